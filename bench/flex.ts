import { Pool } from 'undici';
import { batchFile } from './support/batch-file.ts';
import { apiKey, createDataFolder, startOffpeak, upstreamEngine, type Offpeak } from './support/offpeak.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream, type Upstream } from './support/upstream.ts';

const rows = 10_000;
const connections = 500;
const slots = 64;
const delayMs = 50;
/** Uncounted rounds: V8 optimizes over tens of thousands of requests. */
const warmUps = 2;
const rounds = 3;

interface Run {
  utilisation: number;
  cpuUs: number;
}

type Way = 'batch' | 'flex' | 'default';

/** Single requests at the tier `flex` beside the same requests in a batch, and answered at once. */
export const flex: Workload = {
  name: 'flex',
  about: `${rows} chat completions of 1.6 kB on an upstream with ${slots} slots of ${delayMs} ms: as single requests with service_tier flex over ${connections} connections, as one batch, and with the tier default over ${slots} connections.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), slots));
    const input = batchFile(rows, 1600);
    const bodies = input.toString().trimEnd().split('\n').map(bodyOf);
    try {
      const fileId = await uploadFile(offpeak, input);
      const ways: Record<Way, () => Promise<unknown>> = {
        batch: () => runBatch(offpeak, fileId, rows),
        flex: () => send(offpeak, bodies, 'flex', connections),
        default: () => send(offpeak, bodies, 'default', slots),
      };
      const all: Record<Way, Run>[] = [];
      for (let round = 0; round < warmUps + rounds; round++) {
        const each = {} as Record<Way, Run>;
        for (const way of ['batch', 'flex', 'default'] as const)
          each[way] = await measure(offpeak, upstream, ways[way]);
        all.push(each);
      }
      const of = (figure: (run: Record<Way, Run>) => number) => median(all.slice(warmUps).map(figure));
      return {
        figures: [
          {
            name: 'slot time used by flex requests, against a batch',
            value: of((r) => r.flex.utilisation / r.batch.utilisation),
            atLeast: 0.95,
          },
          { name: 'slot time used by flex requests', value: of((r) => r.flex.utilisation) },
          { name: 'slot time used by a batch', value: of((r) => r.batch.utilisation) },
          {
            name: 'CPU a flex request, against the tier default',
            value: of((r) => r.flex.cpuUs / r.default.cpuUs),
            atMost: 1.6,
          },
          { name: 'CPU a flex request', value: of((r) => r.flex.cpuUs), unit: 'us' },
          { name: 'CPU a request at the tier default', value: of((r) => r.default.cpuUs), unit: 'us' },
          { name: 'CPU a row of a batch', value: of((r) => r.batch.cpuUs), unit: 'us' },
        ],
        notes: [
          `Medians of ${rounds} rounds on one server, in turns, after ${warmUps} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

function bodyOf(line: string): object {
  return (JSON.parse(line) as { body: object }).body;
}

async function measure(offpeak: Offpeak, upstream: Upstream, run: () => Promise<unknown>): Promise<Run> {
  await upstream.reset({ slots, delayMs });
  const before = await offpeak.figures('reset');
  await run();
  const after = await offpeak.figures();
  const { total, utilisation } = await upstream.stats();
  if (total !== rows) throw new Error(`the upstream saw ${total} requests instead of ${rows}`);
  return { utilisation, cpuUs: (after.cpuUs - before.cpuUs) / rows };
}

async function send(
  { url }: Offpeak,
  bodies: readonly object[],
  tier: 'flex' | 'default',
  width: number,
): Promise<void> {
  const pool = new Pool(url, { connections: width, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let body = bodies[next++]; body; body = bodies[next++]) {
      const request = JSON.stringify({ ...body, service_tier: tier });
      const path = '/v1/chat/completions';
      const reply = await pool.request({ method: 'POST', path, headers, body: request });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`${tier} answered ${reply.statusCode}: ${text}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: width }, worker));
  } finally {
    await pool.destroy();
  }
}
