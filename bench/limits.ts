import { loadConfig } from '../src/config.ts';
import { measureCost } from './support/cost.ts';
import { plain } from './support/formats.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';

const connections = 64;
const requests = 6000;
const warm = 3;
const rounds = 5;

/** Limits that no request reaches. */
const most = {
  requestsPerMinute: 1e9,
  inputTokensPerMinute: 1e9,
  outputTokensPerMinute: 1e9,
  concurrentRequests: 1e9,
};

/** Cost of limits on single requests. */
export const limits: Workload = {
  name: 'limits',
  about: `POST /v1/chat/completions with ${connections} connections, with all limits of docs/limits.md on the org and on the key, and without any.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const folders = { limited: createDataFolder(), free: createDataFolder() };
    const engine = upstreamEngine(upstream.url('fast'), 128);
    const defaults = loadConfig({ env: {} }).limits;
    const limited = await startOffpeak(
      folders.limited.path,
      engine,
      {},
      {
        limits: { ...defaults, perOrg: most, perKey: most },
      },
    );
    const free = await startOffpeak(folders.free.path, engine);
    const targets = { limited, free };
    const measure = (name: 'limited' | 'free') =>
      measureCost(targets[name], plain('chat'), { connections, requests });
    try {
      const names = ['limited', 'free'] as const;
      await measureRounds(names, warm, measure);
      const { median } = await measureRounds(names, rounds, measure);
      return {
        figures: [
          {
            name: 'CPU a request, against no limits',
            value: median((r) => r.limited.cpuUs / r.free.cpuUs),
            atMost: 1.15,
          },
          { name: 'CPU a request', value: median((r) => r.limited.cpuUs), unit: 'us' },
          { name: 'CPU a request, without limits', value: median((r) => r.free.cpuUs), unit: 'us' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${warm * requests} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
          `Load average at the end: ${loadAverage().toFixed(1)}.`,
        ],
      };
    } finally {
      await limited.stop();
      await free.stop();
      await upstream.stop();
      for (const folder of Object.values(folders)) folder.remove();
    }
  },
};
