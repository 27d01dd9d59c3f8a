import { realStores, startRealStore } from '../test/blobs/real-stores.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { batchFile } from './support/batch-file.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { recordedASecond } from './support/recorded-a-second.ts';
import { median, type Report, type Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

const rows = 10_000;
const lineBytes = 500;
/** More than the processes can fill: they are the limit. */
const upstreamOf = { slots: 512, delayMs: 20 };
const roles = ['api', 'api', 'worker', 'worker', 'worker', 'worker'] as const;
const rounds = 3;
const [versitygw] = realStores;

/** Lines recorded a second by a whole cluster on one machine. */
export const cluster: Workload = {
  name: 'cluster',
  about: `A batch of ${rows} requests by two api and four worker processes on one Postgres with fsync and one bucket in versitygw, all on the same cores, on an upstream with more slots than they can fill.`,

  async run(): Promise<Report> {
    const program = await versitygw!.find();
    if (typeof program !== 'string') throw new Error(`There is no versitygw: ${program.reason}.`);
    const postgres = await startPostgres({ isDurable: true });
    if ('reason' in postgres) return { figures: [], notes: [`Not run: ${postgres.reason}`] };
    const bare = await recordedASecond(postgres);
    const store = await startRealStore(versitygw!, program);
    const upstream = await startUpstream();
    const data = createDataFolder();
    const database = await postgres.createDatabase();
    const engine = upstreamEngine(upstream.url('delay'), upstreamOf.slots);
    const files = { purposes: ['batch' as const], bytes: 2 ** 30, bucket: store.bucket, cacheBytes: 2 ** 26 };
    const servers: Offpeak[] = [];
    try {
      for (const role of roles)
        servers.push(await startOffpeak(data.path, engine, {}, { database, role, files }));
      const input = batchFile(rows, lineBytes);
      const measured: { rate: number; cpuUs: number; fill: number }[] = [];
      for (let round = 0; round < rounds; round++) {
        const api = servers[round % 2]!;
        const fileId = await uploadFile(api, input);
        await upstream.reset(upstreamOf);
        const before = await cpuUsOf(servers);
        const began = performance.now();
        await runBatch(api, fileId, rows);
        const seconds = (performance.now() - began) / 1_000;
        const { total, utilisation } = await upstream.stats();
        if (total !== rows) throw new Error(`the upstream saw ${total} requests instead of ${rows}`);
        const cpuUs = ((await cpuUsOf(servers)) - before) / rows;
        measured.push({ rate: rows / seconds, cpuUs, fill: utilisation });
      }
      const of = (figure: (round: (typeof measured)[number]) => number) => median(measured.map(figure));
      return {
        figures: [
          { name: 'lines recorded a second', value: of((r) => r.rate), atLeast: 3_000 },
          { name: 'results recorded a second by four bare recorders', value: bare },
          { name: 'CPU of all processes, a row', value: of((r) => r.cpuUs), unit: 'us' },
          { name: 'slot time used', value: of((r) => r.fill) },
        ],
        notes: [
          `Medians of ${rounds} batches, from their creation to their completion with result files in the bucket. Postgres, versitygw, the upstream and the six processes share the machine. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await upstream.stop();
      await store.stop();
      data.remove();
      await postgres.stop();
    }
  },
};

async function cpuUsOf(servers: readonly Offpeak[]): Promise<number> {
  const used = await Promise.all(servers.map((server) => server.figures()));
  return used.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
}
