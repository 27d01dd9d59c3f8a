import { startBare } from './support/bare.ts';
import { comparedLoad, compareCosts } from './support/compare-costs.ts';
import { startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Report, Workload } from './support/report.ts';

/** Cost of a synchronous request, relative to the minimum for a proxy in Node. */
export const syncChat: Workload = {
  name: 'sync-chat',
  about: `${comparedLoad}, compared with bare node:http and undici that do the same (key, JSON both ways, rewriting) without limits, validation or a ledger.`,

  async run(): Promise<Report> {
    const { cold, median, notes } = await compareCosts(
      {
        offpeak: (upstream, data) => startOffpeak(data, upstreamEngine(upstream, 128)),
        bare: (upstream) => startBare(upstream),
      },
      { warm: 5, rounds: 5 },
    );
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
      notes,
    };
  },
};
