import { startBare } from './support/bare.ts';
import { measureCost } from './support/cost.ts';
import { plain } from './support/formats.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';

const connections = 64;
const requests = 6000;
/** Uncounted rounds: V8 optimizes over tens of thousands of requests, for the proxy too. */
const warm = 5;
const rounds = 5;

/** Cost of a synchronous request, relative to the minimum for a proxy in Node. */
export const syncChat: Workload = {
  name: 'sync-chat',
  about: `POST /v1/chat/completions with ${connections} connections on an upstream that answers at once, compared with bare node:http and undici that do the same (key, JSON both ways, rewriting) without limits, validation or a ledger.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const url = upstream.url('fast');
    const offpeak = await startOffpeak(data.path, upstreamEngine(url, 128));
    const bare = await startBare(url);
    const targets = { offpeak, bare };
    const measure = (name: 'offpeak' | 'bare') =>
      measureCost(targets[name], plain('chat'), { connections, requests });
    try {
      const names = ['offpeak', 'bare'] as const;
      const { median: cold } = await measureRounds(names, warm, measure);
      const { median } = await measureRounds(names, rounds, measure);
      return {
        figures: [
          {
            name: 'requests per CPU second, against bare',
            value: median((r) => r.bare.cpuUs / r.offpeak.cpuUs),
            atLeast: 0.45,
          },
          {
            name: 'requests per CPU second, against bare, warming up',
            value: cold((r) => r.bare.cpuUs / r.offpeak.cpuUs),
          },
          {
            name: 'requests per second, against bare',
            value: median((r) => r.offpeak.perSecond / r.bare.perSecond),
          },
          { name: 'CPU a request', value: median((r) => r.offpeak.cpuUs), unit: 'us' },
          { name: 'CPU a request, bare', value: median((r) => r.bare.cpuUs), unit: 'us' },
          { name: 'requests per second', value: median((r) => r.offpeak.perSecond), unit: '/s' },
          { name: 'most memory', value: median((r) => r.offpeak.peakMb), unit: 'MB' },
          { name: 'most memory, bare', value: median((r) => r.bare.peakMb), unit: 'MB' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${warm * requests} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
          `Load average at the end: ${loadAverage().toFixed(1)}.`,
        ],
      };
    } finally {
      await bare.stop();
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};
