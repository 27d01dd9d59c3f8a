import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config.ts';
import { comparedLoad, compareCosts } from './support/compare-costs.ts';
import { startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Report, Workload } from './support/report.ts';

/** Limits that no request reaches. */
const most = {
  requestsPerMinute: 1e9,
  inputTokensPerMinute: 1e9,
  outputTokensPerMinute: 1e9,
  concurrentRequests: 1e9,
};
const limited = { ...loadConfig({ env: {} }).limits, perOrg: most, perKey: most };
const withoutAccounts = ['--import', fileURLToPath(new URL('support/without-accounts.ts', import.meta.url))];
const engineOf = (upstream: string) => upstreamEngine(upstream, 128);

/** Cost of accounts and limits for single requests. */
export const limits: Workload = {
  name: 'limits',
  about: `${comparedLoad}: with all limits of docs/limits.md on the org and on the key, without any, and without authentication, metering and ledger either.`,

  async run(): Promise<Report> {
    const { median, notes } = await compareCosts(
      {
        limited: (upstream, data) => startOffpeak(data, engineOf(upstream), {}, { limits: limited }),
        free: (upstream, data) => startOffpeak(data, engineOf(upstream)),
        open: (upstream, data) => startOffpeak(data, engineOf(upstream), {}, { flags: withoutAccounts }),
      },
      { warm: 3, rounds: 5 },
    );
    return {
      figures: [
        {
          name: 'share of authentication, limits, metering and ledger in the CPU of a request',
          value: median((r) => 1 - r.open.cpuUs / r.limited.cpuUs),
          atMost: 0.15,
        },
        {
          name: 'CPU a request, against no limits',
          value: median((r) => r.limited.cpuUs / r.free.cpuUs),
          atMost: 1.15,
        },
        { name: 'CPU a request', value: median((r) => r.limited.cpuUs), unit: 'us' },
        { name: 'CPU a request, without limits', value: median((r) => r.free.cpuUs), unit: 'us' },
        { name: 'CPU a request, without all of these', value: median((r) => r.open.cpuUs), unit: 'us' },
      ],
      notes,
    };
  },
};
