import { Client } from 'pg';
import type { Batch } from '../../../src/core/batch.ts';
import { silent } from '../../../src/base/log.ts';
import type { Db } from '../../../src/store/db.ts';
import { openPostgres } from '../../../src/store/postgres/db.ts';
import { createPostgresStore } from '../../../src/store/postgres/postgres.ts';
import { createSqlStore, type StoreOperations } from '../../../src/store/sql/sql-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createSeededRandom } from '../../support/seeded-random.ts';
import { addBatch, makeChunks, start } from '../fixtures.ts';
import { beUser, type Leases, WorkerActor } from './actors.ts';
import { Books } from './books.ts';
import { type Outside, type Rewrite, Turns } from './turns.ts';

/** Planted bug in the operations of the actors. */
export interface Planted {
  rewrite?: Rewrite;
  isOutside?: Outside;
  around?: (store: StoreOperations) => StoreOperations;
}

/** Postgres database on which histories of several processes run. */
export interface Interleavings {
  /** @returns the violation, or null */
  interleave(seed: number, planted?: Planted): Promise<string | null>;
  close(): Promise<void>;
}

const workers = 3;
const stepsEach = 9;
/** Rounds after which every batch must have ended, without disturbance. */
const maxRounds = 30;

const emptied = [
  'batches',
  'batch_chunks',
  'batch_results',
  'usage_ledger',
  'workers',
  'queues',
  'queue_shares',
];

/** @param url of an empty database */
export async function openInterleavings(url: string): Promise<Interleavings> {
  const store = createPostgresStore({ url, log: silent });
  await store.start();
  const monitor = new Client(url);
  await monitor.connect();
  const connections = 2;
  const bounds = { connect: 30_000, statement: 300_000, lock: 300_000, answer: 300_000 };
  const dbs = Array.from({ length: workers + 1 }, () => openPostgres(url, silent, { connections, bounds }));
  return {
    async interleave(seed, planted = {}) {
      await monitor.query(emptied.map((table) => `DELETE FROM ${table};`).join(''));
      return runHistory(seed, { store, monitor, dbs, planted }).then(
        () => null,
        (error: unknown) => `seed ${seed}: ${error instanceof Error ? error.message : String(error)}`,
      );
    },
    async close() {
      await Promise.all([store.stop(), monitor.end(), ...dbs.map((db) => db.close())]);
    },
  };
}

interface Scene {
  store: Store;
  monitor: Client;
  dbs: Db[];
  planted: Planted;
}

/** @throws Error that names the violation */
async function runHistory(seed: number, { store, monitor, dbs, planted }: Scene): Promise<void> {
  const { rewrite = (sql) => sql, isOutside = () => false, around = (same) => same } = planted;
  const random = createSeededRandom(seed);
  const batches: Batch[] = [];
  for (let n = random.int(2, 3); n > 0; n--)
    batches.push(
      await addBatch(store, { orgId: `org_${random.int(1, 2)}`, total: random.int(3, 6) }, (batch) =>
        makeChunks(batch, 2),
      ),
    );
  const turns = new Turns(random.fork(), monitor);
  const books = new Books(monitor);
  const leases: Leases = new Set();
  const stores = dbs.map((db, at) => around(createSqlStore(turns.seenBy(at, db, rewrite, isOutside))));
  const actors = stores.slice(1).map((each, at) => new WorkerActor(at, each, random.fork(), leases));
  const user = random.fork();
  await turns.run(
    [
      () => beUser(stores[0]!, batches, user, () => turns.count),
      ...actors.map((actor) => () => actor.live(stepsEach)),
    ],
    () => books.look(),
  );
  if (turns.deadlocks.length > 0) throw new Error(`deadlock between:\n${turns.deadlocks.join('\n')}`);

  // All processes are dead; one new process finishes the batches undisturbed.
  const last = new WorkerActor(workers, store, random.fork(), leases);
  await store.workers.reap(Number.MAX_SAFE_INTEGER);
  await last.beat();
  for (const { id, orgId } of batches) await store.batches.resume(orgId, id, start);
  for (let round = 0; round < maxRounds; round++) {
    await store.batches.reopen(start, 100);
    while ((await last.claim(100)) > 0) await last.recordAll();
    await last.close();
    await books.look();
    if (books.open.length === 0) return;
  }
  throw new Error(`${books.open.join(', ')} never ended`);
}
