import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics } from 'prom-client';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { Counters } from './counters.ts';
import { createGauges, type GaugesDeps } from './gauges.ts';

export interface MetricsDeps extends Omit<GaugesDeps, 'orgs'> {
  host: string;
  /** 0 for any free port. */
  port: number;
  counts: Counters;
  log: Log;
}

/**
 * Metrics of this process in the text format of Prometheus. They need no key, so they have a listener of their own, away
 * from the API. No label contains a key or text that a client chose.
 */
export function createMetrics({ host, port, counts, log, ...deps }: MetricsDeps): Service {
  const { registry } = counts;
  const gauges = createGauges(registry, { ...deps, orgs: counts.orgs });

  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path !== '/metrics' || !isRead) return void response.writeHead(404).end('GET /metrics\n');
    const metrics = gauges.read().then(() => registry.metrics());
    metrics.then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'cannot read the metrics');
        response.writeHead(500).end();
      },
    );
  });

  return {
    async start() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once('error', reject);
      server.listen(port, host, resolve);
      await promise;
      const { address, family, port: taken } = server.address() as AddressInfo;
      const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`;
      collectDefaultMetrics({ register: registry });
      log.info({ url }, 'metrics available');
    },

    stop() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}
