import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addBatch, claimOf, closeBatch, output } from '../../../test/store/fixtures.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../../test/support/memory-store.ts';
import { silent } from '../../base/log.ts';
import { StoreTime } from '../../base/store-time.ts';
import type { Batch } from '../../core/batch.ts';
import { noHistory } from '../../core/batch-history.ts';
import type { Waiting } from '../../core/waiting.ts';
import { createMatcher } from '../read/match.ts';
import { toBatchView } from '../read/view.ts';
import type { WaitSources } from '../read/waiting.ts';
import { BatchChanges } from './batch-changes.ts';
import { BatchWatch } from './batch-watch.ts';
import { HistoryRecorder } from './history-recorder.ts';

let clock: ManualClock;
let store: MemoryStore;
let changes: BatchChanges;
let watch: BatchWatch;
let budget: Waiting | null;
let snapshots: number;
let fails: boolean;
let isHolder: boolean;
const all = createMatcher({ idOf: (name) => name }, {});

const waitSources: WaitSources = {
  budget: () => budget,
  storage: () => null,
  pausing: () => null,
  waiting: () => null,
  room: () => 1,
  hasJustRun: () => false,
};

function create(exclusive = true, worker = 'wrk_1', maxRecorded = 100): BatchWatch {
  isHolder = exclusive;
  changes = new BatchChanges(worker);
  return new BatchWatch({
    clock,
    time: new StoreTime(clock),
    log: silent,
    worker,
    exclusive,
    duties: { isHolder: () => isHolder },
    store: {
      batches: {
        ...store.batches,
        listChanging: (...page) =>
          fails ? Promise.reject(new Error('away')) : store.batches.listChanging(...page),
        snapshots: (ids) => ((snapshots += ids.length), store.batches.snapshots(ids)),
      },
    },
    waitSources,
    sending: () => new Set(),
    view: async ({ batch, ledger, running, errorSummary }) =>
      toBatchView(batch, ledger, {
        running,
        errorSummary,
        waiting: budget,
        place: null,
        times: { now: clock.now(), from: clock.now(), hours: undefined },
      }),
    changes,
    histories: new HistoryRecorder(store.histories),
    maxRecorded,
  });
}

beforeEach(async () => {
  clock = createManualClock();
  store = createMemoryStore({ clock });
  await store.start();
  [budget, snapshots, fails] = [null, 0, false];
  watch = create();
});
afterEach(() => watch.stop());

const add = (fields: Partial<Batch> = {}) =>
  addBatch(store, {
    createdAt: clock.now(),
    expiresAt: clock.now() + 86_400_000,
    acceptUntil: clock.now() + 86_400_000,
    total: 100,
    ...fields,
  });
/** Records lines of a batch, whose first chunks are claimed. */
const record = (batch: Batch, from: number, to: number) =>
  store.results.record(
    'w',
    Array.from({ length: to - from }, (_, n) => output(batch, from + n)),
    [],
    clock.now(),
  );
const claim = (batch: Batch, count = 25) => claimOf(store, 'w', batch.id, { count, now: clock.now() });
const stored = async (id: string) => (await store.histories.get([id]))[0] ?? noHistory;

/** Opens a stream, and collects what it gets. */
async function follow() {
  await watch.collect();
  const seen: string[] = [];
  const leaving = new AbortController();
  const reading = (async () => {
    for await (const page of changes.read('all', all, undefined, leaving.signal))
      seen.push(
        ...page.changes.map(({ id, view }) =>
          view ? `${id} ${view.batch.status} ${view.batch.ok}` : `${id} deleted`,
        ),
      );
  })().catch(() => {});
  return { seen, leave: () => (leaving.abort(), reading) };
}

describe('streams', () => {
  it('get what has changed, once a second, and not what was there before', async () => {
    const old = await add();
    await watch.start();
    const { seen } = await follow();
    await clock.advance(3_000);
    expect(seen).toEqual([]);
    const batch = await add();
    await claim(batch);
    for (let line = 0; line < 50; line++) await record(batch, line, line + 1);
    await clock.advance(1_000);
    expect(seen).toEqual([`${batch.id} in_progress 50`]);
    await record(batch, 50, 100);
    await clock.advance(1_000);
    await closeBatch(store, batch.id, clock.now());
    await store.batches.pause('org_a', old.id, clock.now());
    await clock.advance(5_000);
    expect(seen.slice(1)).toEqual([
      `${batch.id} in_progress 100`,
      `${old.id} validating 0`,
      `${batch.id} completed 100`,
    ]);
  });

  it('get batches that were created and have ended between two reads', async () => {
    await watch.start();
    const { seen } = await follow();
    const batch = await add();
    await store.batches.cancel('org_a', batch.id, clock.now(), 0);
    await closeBatch(store, batch.id, clock.now());
    await clock.advance(20_000);
    expect(seen).toEqual([`${batch.id} cancelled 0`]);
  });

  it('get the batches that any process deletes', async () => {
    await watch.start();
    const batch = await add();
    await store.batches.cancel('org_a', batch.id, clock.now(), 0);
    await closeBatch(store, batch.id, clock.now());
    const { seen } = await follow();
    await store.results.purge(batch.id, 1_000);
    await store.batches.remove('org_a', batch.id, clock.now());
    await clock.advance(20_000);
    expect(seen).toEqual([`${batch.id} deleted`]);
  });

  it('miss nothing from their first event on, on a process that did not read before', async () => {
    watch = create(false);
    await watch.start();
    const batch = await add();
    const { seen, leave } = await follow();
    await claim(batch);
    await record(batch, 0, 1);
    await clock.advance(1_000);
    expect(seen).toEqual([`${batch.id} in_progress 1`]);
    await leave();
    await clock.advance(59_000);
    await record(batch, 1, 2);
    await clock.advance(120_000);
    await clock.advance(1_000);
    // Without readers, and while another process records, the process reads nothing.
    const before = snapshots;
    await record(batch, 2, 3);
    await clock.advance(10_000);
    expect(snapshots).toBe(before);
  });

  it('continue after an outage of the database', async () => {
    const batch = await add();
    await watch.start();
    const { seen } = await follow();
    fails = true;
    await clock.advance(5_000);
    await claim(batch);
    fails = false;
    await clock.advance(1_000);
    expect(seen).toEqual([`${batch.id} in_progress 0`]);
  });

  it('cost the same reads, whether 1 or 200 follow', async () => {
    await watch.start();
    const batch = await add();
    await claim(batch);
    const readsOf = async (streams: number) => {
      const opened = await Promise.all(Array.from({ length: streams }, follow));
      await clock.advance(2_000);
      const before = snapshots;
      for (let n = 0; n < 5; n++) {
        await record(batch, snapshots, snapshots + 1);
        await clock.advance(1_000);
      }
      await Promise.all(opened.map(({ leave }) => leave()));
      return snapshots - before;
    };
    const one = await readsOf(1);
    expect(await readsOf(200)).toBe(one);
  });
});

describe('histories', () => {
  it('have the counts and tokens over time, with flat parts, across restarts', async () => {
    await watch.start();
    const batch = await add();
    await claim(batch);
    await clock.advance(1_000);
    const begun = clock.now();
    for (let n = 0; n < 5; n++) {
      await record(batch, n, n + 1);
      await clock.advance(2_000);
    }
    await clock.advance(60_000);
    await watch.stop();
    watch = create();
    await watch.start();
    await record(batch, 50, 60);
    await clock.advance(10_000);
    const { points } = await stored(batch.id);
    expect(points.map(([at, ok]) => [at - begun, ok])).toEqual([
      [0, 0],
      [2_000, 1],
      [4_000, 2],
      [6_000, 3],
      [8_000, 4],
      [10_000, 5],
      [70_000, 5],
      [71_000 + 1_000, 15],
    ]);
    expect(points.at(-1)).toEqual([expect.any(Number), 15, 0, 150, 45]);
  });

  it('have waits that last five seconds, until the batch runs or ends', async () => {
    await watch.start();
    const batch = await add();
    const at = clock.now();
    budget = { reason: 'budget', message: 'No money.', since: at };
    await clock.advance(4_000);
    budget = null;
    await clock.advance(60_000);
    expect((await stored(batch.id)).waits).toEqual([]);
    budget = { reason: 'budget', message: 'No money.', since: at + 64_000 };
    await clock.advance(30_000);
    budget = null;
    await clock.advance(30_000);
    await store.batches.pause('org_a', batch.id, clock.now());
    await clock.advance(20_000);
    await store.batches.cancel('org_a', batch.id, clock.now(), 0);
    await closeBatch(store, batch.id, clock.now());
    await clock.advance(20_000);
    const { waits } = await stored(batch.id);
    expect(waits.map(({ reason, since, until }) => [reason, since - at, until! - at])).toEqual([
      ['budget', 64_000, 95_000],
      ['paused', 124_000, 145_000],
    ]);
  });

  it('are recorded by the holder of the duties alone, and by the next one', async () => {
    watch = create(false, 'wrk_2');
    await watch.start();
    const batch = await add();
    await claim(batch);
    await clock.advance(10_000);
    expect((await stored(batch.id)).points).toEqual([]);
    isHolder = true;
    await record(batch, 0, 4);
    await clock.advance(10_000);
    expect((await stored(batch.id)).points.map(([, ok]) => ok)).toEqual([4]);
  });

  it('are those of the oldest and of the running where many are open, while streams get all', async () => {
    watch = create(true, 'wrk_1', 2);
    await watch.start();
    const [oldest, second, third, newest] = [await add(), await add(), await add(), await add()];
    await claim(newest);
    await record(newest, 0, 1);
    budget = { reason: 'budget', message: 'No money.', since: clock.now() };
    await clock.advance(20_000);
    const waits = async (batch: Batch) =>
      (await stored(batch.id)).waits.map(({ reason, until }) => [reason, until]);
    expect((await stored(newest.id)).points.map(([, ok]) => ok)).toEqual([1]);
    for (const batch of [oldest, second, newest]) expect(await waits(batch)).toEqual([['budget', null]]);
    expect(await waits(third)).toEqual([]);
    const { seen, leave } = await follow();
    // Batches that only the histories left out are no news.
    await clock.advance(2_000);
    expect(seen).toEqual([]);
    await store.batches.setPriority(third.id, 9);
    await clock.advance(2_000);
    expect(seen).toEqual([`${third.id} validating 0`]);
    await leave();
    await clock.advance(120_000);
    // A batch that left the reads still waits.
    for (const batch of [oldest, third]) expect(await waits(batch)).toEqual([['budget', null]]);
  });

  it('are not written by a process that slept through the end of its lease', async () => {
    watch = create(false);
    isHolder = true;
    const batch = await add();
    await claim(batch);
    await watch.start();
    await record(batch, 0, 4);
    await clock.advance(2_000);
    isHolder = false;
    const [newer] = [{ ...noHistory, batchId: batch.id, updatedAt: clock.now(), omittedWaits: 7 }];
    await store.histories.put([newer]);
    await watch.stop();
    expect((await stored(batch.id)).omittedWaits).toBe(7);
  });

  it('are written in groups, at most every five seconds', async () => {
    let writes = 0;
    const { histories } = store;
    store.histories = { ...histories, put: (rows) => (writes++, histories.put(rows)) };
    watch = create();
    await watch.start();
    const batches = [await add(), await add(), await add()];
    for (const batch of batches) await claim(batch);
    for (let n = 0; n < 20; n++) {
      for (const batch of batches) await record(batch, n, n + 1);
      await clock.advance(1_000);
    }
    expect(writes).toBeLessThanOrEqual(5);
    expect((await stored(batches[2]!.id)).points.length).toBeGreaterThan(5);
  });
});
