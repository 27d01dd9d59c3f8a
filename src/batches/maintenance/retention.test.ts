import { afterEach, beforeEach, expect, it } from 'vitest';
import { addBatch, closeBatch } from '../../../test/store/fixtures.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../../test/support/memory-store.ts';
import { dayMs, hourMs } from '../../base/clock.ts';
import { silent } from '../../base/log.ts';
import { StoreTime } from '../../base/store-time.ts';
import type { Service } from '../../base/service.ts';
import type { Batch } from '../../core/batch.ts';
import { createRetention } from './retention.ts';

const keepMs = 40 * dayMs;

let clock: ManualClock;
let time: StoreTime;
let store: MemoryStore;
let retention: Service;
let isHolder: boolean;
/** Batch that cannot be removed. */
let broken: string;

beforeEach(async () => {
  clock = createManualClock();
  time = new StoreTime(clock);
  store = createMemoryStore({ clock });
  await store.start();
  [isHolder, broken] = [true, ''];
  retention = createRetention({
    store,
    clock,
    time,
    log: silent,
    duties: { isHolder: () => isHolder },
    keepMs,
    async remove({ id, orgId }) {
      if (id === broken) throw new Error('no');
      while (!(await store.results.purge(id, 100)));
      await store.batches.remove(orgId, id, clock.now());
    },
  });
  await retention.start();
});
afterEach(async () => {
  await retention.stop();
  await store.stop();
});

const add = () =>
  addBatch(store, {
    createdAt: clock.now(),
    expiresAt: clock.now() + 100 * dayMs,
    acceptUntil: clock.now() + 100 * dayMs,
  });
async function addEnded(): Promise<Batch> {
  const batch = await add();
  await store.batches.cancel(batch.orgId, batch.id, clock.now(), 0);
  await closeBatch(store, batch.id, clock.now());
  return batch;
}
const left = async () => (await store.batches.listAll({ order: 'asc', limit: 1_000 })).map(({ id }) => id);

it('removes batches some time after their end, and no others', async () => {
  const [open, ended] = [await add(), await addEnded()];
  await clock.advance(dayMs);
  const later = await addEnded();
  await clock.advance(39 * dayMs - hourMs);
  expect(await left()).toEqual([open.id, ended.id, later.id]);
  await clock.advance(3 * hourMs);
  expect(await left()).toEqual([open.id, later.id]);
  // The end counts and not the creation.
  await store.batches.cancel(open.orgId, open.id, clock.now(), 0);
  await closeBatch(store, open.id, clock.now());
  await clock.advance(dayMs);
  expect(await left()).toEqual([open.id]);
});

it('removes all of them, however many, and skips one that fails', async () => {
  const ended: Batch[] = [];
  for (let n = 0; n < 130; n++) ended.push(await addEnded());
  broken = ended[3]!.id;
  await clock.advance(40 * dayMs + 2 * hourMs);
  expect(await left()).toEqual([broken]);
  broken = '';
  await clock.advance(2 * hourMs);
  expect(await left()).toEqual([]);
});

it('removes nothing where the duties are not held, or when the clock jumps', async () => {
  const ended = await addEnded();
  time.synchronize(clock.now() + 400 * dayMs, clock.monotonic());
  await clock.advance(2 * hourMs);
  expect(await left()).toEqual([ended.id]);
  isHolder = false;
  await clock.advance(41 * dayMs);
  expect(await left()).toEqual([ended.id]);
  isHolder = true;
  await clock.advance(hourMs);
  expect(await left()).toEqual([]);
});
