import { startPostgres } from '../test/support/postgres.ts';
import { batchFile } from './support/batch-file.ts';
import { withClient } from './support/fill.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { percentile, type Report, type Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

const lines = 20;
const times = 60;
const idleMs = 10_000;

/** Time until a process that runs batches starts one that another process created. */
export const handover: Workload = {
  name: 'handover',
  about: `Batches of ${lines} requests, created one after the other by an api process on Postgres: time until a worker process sends the first request.`,

  async run(): Promise<Report> {
    const postgres = await startPostgres();
    if ('reason' in postgres) return { figures: [], notes: [`Not run: ${postgres.reason}`] };
    const data = createDataFolder();
    const upstream = await startUpstream();
    const database = await postgres.createDatabase();
    const engine = upstreamEngine(upstream.url('delay'), 64);
    const servers: Offpeak[] = [];
    try {
      for (const role of ['api', 'worker'] as const)
        servers.push(await startOffpeak(data.path, engine, {}, { database, role }));
      const [api, worker] = servers as [Offpeak, Offpeak];
      const fileId = await uploadFile(api, batchFile(lines, 500));
      await runBatch(api, fileId, lines);
      const taken: number[] = [];
      for (let n = 0; n < times; n++) {
        // Covers all phases of the polls.
        await sleep((n * 1_300) / times + 200);
        await upstream.reset();
        const created = Date.now();
        await runBatch(api, fileId, lines);
        taken.push((await upstream.stats()).first_epoch_ms - created);
      }
      const idle = await measureIdle(database, worker);
      return {
        figures: [
          { name: 'start of a batch, median', value: percentile(taken, 50), unit: 'ms' },
          { name: 'start of a batch, p99', value: percentile(taken, 99), unit: 'ms', atMost: 300 },
          { name: 'transactions of both processes, idle', value: idle.transactions, unit: 'per second' },
          { name: 'CPU of the idle worker process', value: idle.cpu * 100, unit: '% of a core' },
        ],
        notes: [
          `${times} batches, timed from the request that creates one. Postgres on the same machine, without fsync.`,
        ],
      };
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await upstream.stop();
      data.remove();
      await postgres.stop();
    }
  },
};

async function measureIdle(
  database: string,
  worker: Offpeak,
): Promise<{ transactions: number; cpu: number }> {
  return withClient(database, async (client) => {
    const read = async () => {
      const { rows } = await client.query<{ count: string }>(
        'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()',
      );
      return { count: Number(rows[0]!.count), cpuUs: (await worker.figures()).cpuUs };
    };
    // Until the last batch is closed and its heartbeat is over.
    await sleep(3_000);
    const before = await read();
    await sleep(idleMs);
    const after = await read();
    return {
      transactions: ((after.count - before.count) / idleMs) * 1_000,
      cpu: (after.cpuUs - before.cpuUs) / (idleMs * 1_000),
    };
  });
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
