import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics } from 'prom-client';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { Counters } from './counters.ts';
import { createGauges, type GaugesDeps } from './gauges.ts';

export interface MetricsDeps extends GaugesDeps {
  host: string;
  /** 0 for any that is free. */
  port: number;
  counts: Counters;
  log: Log;
}

/**
 * What monitoring reads of a process, in the text format of Prometheus, on a listener of its own: it asks for no key, and so is
 * not where clients come (api.md, section 6). No label holds a key, or what a client chose.
 */
export function createMetrics({ host, port, counts, log, ...parts }: MetricsDeps): Service {
  const { registry } = counts;
  const readings = createGauges(registry, parts);

  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path !== '/metrics' || !isRead) return void response.writeHead(404).end('GET /metrics\n');
    told().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'the metrics could not be told');
        response.writeHead(500).end();
      },
    );
  });

  async function told(): Promise<string> {
    await readings.read();
    return registry.metrics();
  }

  return {
    async start() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once('error', reject);
      server.listen(port, host, resolve);
      await promise;
      const { address, family, port: taken } = server.address() as AddressInfo;
      const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`;
      collectDefaultMetrics({ register: registry });
      log.info({ url }, 'metrics can be read');
    },

    stop() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}
