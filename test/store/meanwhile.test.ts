import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Batch, BatchFault } from '../../src/core/batch.ts';
import { systemClock } from '../../src/base/system.ts';
import type { Db } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore, type StoreOperations } from '../../src/store/sql/sql-store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import type { Store } from '../../src/store/store.ts';
import { addBatch, claimOf, hour, lease, makeWebhook, closeBatch, output, range, start } from './fixtures.ts';

// Operations that read without a lock and then write in a transaction must notice what another process changed in between.

const fault: BatchFault = { code: 'batch_failed', message: 'The input is gone.', param: null, line: null };
const suspects = { minKills: 99, max: 0, mayTakeAlone: false };

let db: Db;
/** Stores of this process and of another process on the same database. */
let store: Store;
let other: Store;
/** Called once, between the read of the next operation and its transaction. */
let meanwhile: (() => Promise<unknown>) | undefined;

beforeEach(async () => {
  db = openSqlite(':memory:', systemClock);
  await migrate(db);
  const interrupted: Db = {
    ...db,
    async tx(work) {
      const between = meanwhile;
      meanwhile = undefined;
      await between?.();
      return db.tx(work);
    },
  };
  const of = (operations: StoreOperations) => operations as Store;
  [store, other] = [of(createSqlStore(interrupted)), of(createSqlStore(db))];
});
afterEach(() => db.close());

const find = async ({ id }: Batch) => (await store.batches.find(id))!;
const wanted = { model: 'm1', names: ['m1'], lines: 0, chunks: 9, claimedDue: {}, moreOrgs: 0 };

describe('a batch that is about to expire', () => {
  const ends: [what: string, end: (batch: Batch) => Promise<unknown>, closing: string | null][] = [
    ['is cancelled', ({ id }) => other.batches.cancel('org_a', id, start, 0), 'cancelled'],
    ['fails', ({ id }) => other.batches.fail(id, fault, start), 'failed'],
    [
      'gets its last result',
      (batch) =>
        other.results.record(
          'w',
          range(0, 8).map((line) => output(batch, line)),
          [],
          start,
        ),
      'completed',
    ],
    ['is expired by another process', ({ expiresAt }) => other.batches.expire(expiresAt, 9), 'expired'],
    ['has its window moved', () => other.batches.moveWindows(hour), null],
  ];

  test.each(ends)('is left alone if it %s meanwhile', async (_, end, closing) => {
    const batch = await addBatch(other);
    await claimOf(other, 'w', batch.id, { count: 9 });
    meanwhile = () => end(batch);
    expect(await store.batches.expire(batch.expiresAt, 9)).toEqual([]);
    expect(meanwhile).toBeUndefined();
    expect((await find(batch)).closing).toBe(closing);
  });
});

describe('a claim returns nothing of a batch that meanwhile', () => {
  test.each<[string, (batch: Batch) => Promise<unknown>]>([
    ['is cancelled', ({ id }) => other.batches.cancel('org_a', id, start, 0)],
    ['is paused', ({ id }) => other.batches.pause('org_a', id, start)],
    ['is claimed by another process', ({ id }) => claimOf(other, 'v', id, { count: 9 })],
  ])('%s', async (_, act) => {
    const batch = await addBatch(other);
    meanwhile = () => act(batch);
    expect((await store.batches.claim('w', [wanted], { now: start, suspects })).chunks).toEqual([]);
    expect(meanwhile).toBeUndefined();
  });
});

test('the closing of a batch that another process claims meanwhile is not claimed', async () => {
  const batch = await addBatch(other);
  await other.batches.cancel('org_a', batch.id, start, 0);
  meanwhile = () => other.batches.claimClosings('v', 9);
  expect((await store.batches.claimClosings('w', 9)).chunks).toEqual([]);
  expect(meanwhile).toBeUndefined();
});

test('a batch with lost lines that another process reopens meanwhile is not reopened again', async () => {
  const batch = await addBatch(other);
  const chunks = await claimOf(other, 'w', batch.id, { count: 9 });
  await other.results.record('w', [output(batch, 0)], chunks.map(lease), start);
  meanwhile = () => other.batches.reopen(start, 9);
  expect(await store.batches.reopen(start, 9)).toEqual([]);
  expect(meanwhile).toBeUndefined();
});

test('a delivery that another process claims meanwhile is not claimed', async () => {
  const webhook = makeWebhook({ eventTypes: ['batch.cancelled'] });
  await other.webhooks.insert(webhook, 'secret', 9);
  const batch = await addBatch(other);
  await other.batches.cancel('org_a', batch.id, start, 0);
  await closeBatch(other, batch.id);
  const options = { leaseMs: hour, limit: 9, each: 9, busy: [] };
  meanwhile = () => other.webhooks.claim('v', options);
  expect(await store.webhooks.claim('w', options)).toEqual([]);
  expect(meanwhile).toBeUndefined();
});
