import { readUsage } from '../src/accounts/usage.ts';
import { silent } from '../src/base/log.ts';
import type { UsageQuery } from '../src/core/usage-report.ts';
import { createPostgresStore } from '../src/store/postgres/postgres.ts';
import type { Store } from '../src/store/store.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { fill } from './support/fill.ts';
import { fillUsage, type UsageSpan } from './support/fill-usage.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { type Figure, percentile, type Report, type Workload } from './support/report.ts';

const orgs = Number(process.env.OFFPEAK_BENCH_ORGS ?? 10_000);
const open = Number(process.env.OFFPEAK_BENCH_OPEN ?? 1_000_000);
/** Batches that ended within a year. */
const ended = Number(process.env.OFFPEAK_BENCH_ENDED ?? 1_000_000);
const times = 200;
/** Orgs of which a process has lines claimed, and lines that a claim brings. */
const claimedOrgs = 64;
const claimedLines = 64;

/** Database of an installation that has grown: claims and reads with many orgs and open batches. */
export const growth: Workload = {
  name: 'growth',
  about: `Claims and reads on a Postgres with ${open} open batches of ${orgs} orgs, all with ready work for one model.`,

  async run(): Promise<Report> {
    const postgres = await startPostgres({ settings: { shared_buffers: '512MB', max_wal_size: '4GB' } });
    if ('reason' in postgres) return { figures: [], notes: [`Not run: ${postgres.reason}`] };
    const data = createDataFolder();
    const database = await postgres.createDatabase();
    const store = createPostgresStore({ url: database, log: silent });
    let offpeak: Offpeak | undefined;
    try {
      const engine = upstreamEngine('http://127.0.0.1:9', 1);
      offpeak = await startOffpeak(data.path, engine, {}, { database, role: 'api' });
      const { batchId } = await fill(offpeak, database, { orgs, open });
      await store.start();
      const claims = [...(await measureClaims(store)), ...(await measureReads(offpeak, batchId))];
      const year = await fillUsage(store, database, { orgs, ended });
      return {
        figures: [...claims, ...(await measureUsage(store, year))],
        notes: [
          `Usage is that of all orgs, read as the server does before it writes the answer, with one row in the ledger for each of ${ended} batches that ended evenly over it.`,
          `Each batch has a chunk of 4 lines. A claim is a whole call of the store, with its commit, of a process that has lines of ${claimedOrgs} orgs; it brings ${claimedLines} lines.`,
          'Reads are HTTP requests to a server that runs no batches.',
          'Postgres on the same machine, without fsync and full_page_writes, with 512 MB of shared buffers.',
        ],
      };
    } finally {
      await store.stop();
      await offpeak?.stop();
      data.remove();
      await postgres.stop();
    }
  },
};

async function measureClaims({ batches }: Store): Promise<Figure[]> {
  const claimedDue: Record<string, number> = {};
  const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
  return timed('claim', 5, async () => {
    const now = Date.now();
    const moreOrgs = Math.max(0, claimedOrgs - Object.keys(claimedDue).length);
    const names = ['bench', 'bench-alias'];
    const wanted = [{ model: 'bench', names, lines: claimedLines, chunks: 0, claimedDue, moreOrgs }];
    const { chunks, batches: claimed } = await batches.claim('wrk_bench', wanted, { now, suspects });
    if (chunks.length === 0) throw new Error('a claim brought no chunk');
    for (const { orgId, due } of claimed) claimedDue[orgId] = due;
    // Forgets the oldest: their lines were answered.
    for (const orgId of Object.keys(claimedDue).slice(0, -claimedOrgs)) delete claimedDue[orgId];
  });
}

async function measureReads(offpeak: Offpeak, batchId: string): Promise<Figure[]> {
  return [
    ...(await timed('GET of a batch', 5, () => offpeak.get(`/v1/batches/${batchId}`))),
    ...(await timed('list of 20 batches', undefined, () => offpeak.get('/v1/batches?limit=20'))),
  ];
}

/** First pages of reports, with their totals. */
async function measureUsage({ ledger }: Store, span: UsageSpan): Promise<Figure[]> {
  const figures: Figure[] = [];
  const reports: UsageQuery['groups'][] = [
    ['day', 'model'],
    ['org'],
    ['model'],
    ['org', 'key'],
    ['day', 'org'],
  ];
  for (const groups of reports) {
    const read = () => readUsage(ledger, { ...span, groups, limit: 10_000 });
    figures.push(...(await timed(`usage of a year by ${groups.join(' and ')}`, 500, read, 10)));
  }
  return figures;
}

/** Median and p99 of calls one after the other, without the first tenth. @param atMost goal of the median in milliseconds */
async function timed(
  name: string,
  atMost: number | undefined,
  call: () => Promise<unknown>,
  calls = times,
): Promise<Figure[]> {
  const taken: number[] = [];
  for (let n = 0; n < calls; n++) {
    const began = performance.now();
    await call();
    taken.push(performance.now() - began);
  }
  const warm = taken.slice(calls / 10);
  return [
    {
      name: `${name}, median`,
      value: percentile(warm, 50),
      unit: 'ms',
      ...(atMost !== undefined && { atMost }),
    },
    { name: `${name}, p99`, value: percentile(warm, 99), unit: 'ms' },
  ];
}
