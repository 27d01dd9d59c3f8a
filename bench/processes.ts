import { startPostgres } from '../test/support/postgres.ts';
import { batchFile } from './support/batch-file.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { recordedASecond } from './support/recorded-a-second.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

/** Slow enough that the shared core is not the limit: four processes start with cold code. */
const delayMs = 200;
const rows = 4_000;
const slots = 64;
/** An eighth of the slots queues at the upstream, so that no slot waits for Offpeak. */
const ahead = 8;
const rounds = 3;
const counts = { one: 1, four: 4 } as const;

/** Slot utilization of several processes on one Postgres. */
export const processes: Workload = {
  name: 'processes',
  about: `A batch of ${rows} requests on an upstream with ${slots} slots of ${delayMs} ms, by one process and by four on one Postgres: share of its slot time used.`,

  async run(): Promise<Report> {
    const postgres = await startPostgres();
    if ('reason' in postgres) return { figures: [], notes: [`Not run: ${postgres.reason}`] };
    const durable = await recordedDurably();
    const upstream = await startUpstream();
    const input = batchFile(rows, 3250);
    const measure = async (name: keyof typeof counts) => {
      const data = createDataFolder();
      const database = await postgres.createDatabase();
      const engine = upstreamEngine(upstream.url('delay'), slots);
      const servers = [];
      for (let n = 0; n < counts[name]; n++)
        servers.push(await startOffpeak(data.path, engine, {}, { database }));
      try {
        const fileId = await uploadFile(servers[0]!, input);
        await upstream.reset({ slots, delayMs });
        const before = await cpuUsOf(servers);
        await runBatch(servers[0]!, fileId, rows);
        const { utilisation, total, max_queued: queued } = await upstream.stats();
        if (total !== rows) throw new Error(`the upstream saw ${total} requests instead of ${rows}`);
        return { utilisation, queued, cpuUs: ((await cpuUsOf(servers)) - before) / rows };
      } finally {
        await Promise.all(servers.map((server) => server.stop()));
        data.remove();
      }
    };
    try {
      const { median } = await measureRounds(['one', 'four'], rounds, measure);
      const recorded = await recordedASecond(postgres);
      return {
        figures: [
          { name: 'slot time used, one process', value: median((r) => r.one.utilisation) },
          { name: 'slot time used, four processes', value: median((r) => r.four.utilisation) },
          {
            name: 'four against one',
            value: median((r) => r.four.utilisation / r.one.utilisation),
            atLeast: 0.97,
          },
          {
            name: 'longest queue at the upstream, four processes',
            value: median((r) => r.four.queued),
            atMost: ahead,
          },
          { name: 'CPU a row, one process', value: median((r) => r.one.cpuUs), unit: 'us' },
          { name: 'CPU a row, four processes', value: median((r) => r.four.cpuUs), unit: 'us' },
          { name: 'results recorded a second by four in 128 batches', value: recorded, atLeast: 10_000 },
          { name: 'the same with fsync', value: durable, atLeast: 3_000 },
        ],
        notes: [
          `Medians of ${rounds} rounds, each the first batch after the start; Postgres on the same machine, without fsync and full_page_writes, except for the last figure. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await upstream.stop();
      await postgres.stop();
    }
  },
};

async function recordedDurably(): Promise<number> {
  const postgres = await startPostgres({ isDurable: true });
  if ('reason' in postgres) throw new Error(postgres.reason);
  try {
    return await recordedASecond(postgres);
  } finally {
    await postgres.stop();
  }
}

async function cpuUsOf(servers: readonly Offpeak[]): Promise<number> {
  const used = await Promise.all(servers.map((server) => server.figures()));
  return used.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
}
