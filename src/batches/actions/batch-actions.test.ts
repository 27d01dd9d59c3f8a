import { beforeEach, describe, expect, it } from 'vitest';
import { makeKey } from '../../../test/store/fixtures.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../../test/support/memory-store.ts';
import { createIds } from '../../base/ids.ts';
import { silent } from '../../base/log.ts';
import { systemRandom } from '../../base/system.ts';
import { ApiError } from '../../core/errors.ts';
import type { ApiKey, Caller } from '../../core/org.ts';
import { type ActOnBatch, BatchActions } from './batch-actions.ts';

let clock: ManualClock;
let store: MemoryStore;
let key: ApiKey;
const signal = new AbortController().signal;
const ids = ['batch_a', 'batch_b', 'batch_c'];
const request = { options: { kind: 'pause' }, ids, dryRun: false } as const;

beforeEach(async () => {
  clock = createManualClock();
  store = createMemoryStore({ clock });
  await store.start();
  key = makeKey();
  const keys = { get: async () => key };
  store.keys = { ...store.keys, ...keys };
});

const by = () => {
  const caller: Caller = { orgId: key.orgId, keyId: key.id, scopes: [], models: null };
  return { caller, orgId: key.orgId, actor: null };
};

function process(worker: string, act: ActOnBatch): BatchActions {
  return new BatchActions({
    store,
    worker,
    clock,
    time: clock,
    log: silent,
    act,
    ids: createIds(clock, systemRandom),
    async *matching() {},
  });
}

/** Process that acts on each batch at once, and its batches in order. */
function working(worker: string) {
  const seen: string[] = [];
  const act: ActOnBatch = async (_action, id) => {
    seen.push(id);
    return 'done';
  };
  return { seen, actions: process(worker, act) };
}

describe('BatchActions', () => {
  it('continues in another process where one that died stopped, and repeats at most its last batch', async () => {
    const seen: string[] = [];
    const dying = process('one', (_action, id) => {
      seen.push(id);
      return id === 'batch_b' ? new Promise(() => {}) : Promise.resolve('done');
    });
    const { action } = await dying.create(by(), request, undefined, signal);
    await store.workers.beat('one', { interactive: {} });
    dying.start();
    await clock.advance(0);
    expect(seen).toEqual(['batch_a', 'batch_b']);
    const other = working('two');
    other.actions.start();
    await clock.advance(20_000);
    expect(other.seen).toEqual([]);
    await clock.advance(20_000);
    expect(other.seen).toEqual(['batch_b', 'batch_c']);
    expect(await other.actions.get(by(), action.id)).toMatchObject({
      status: 'completed',
      total: 3,
      done: 3,
      position: 3,
    });
  });

  /** Starts an action, whose process hangs at the second batch or until `go` is called. */
  async function startHanging() {
    const { promise, resolve: go } = Promise.withResolvers<'done'>();
    await store.workers.beat('one', { interactive: {} });
    const actions = process('one', async (_action, id) => (id === 'batch_b' ? promise : 'done'));
    const { action } = await actions.create(by(), request, undefined, signal);
    actions.start();
    await clock.advance(0);
    return { action, actions, go: () => go('done') };
  }

  it('continues at once in another process after a stop', async () => {
    const { action, actions, go } = await startHanging();
    const stopped = actions.stop();
    go();
    await stopped;
    const other = working('two');
    other.actions.start();
    await clock.advance(0);
    expect(other.seen).toEqual(['batch_c']);
    expect(await other.actions.get(by(), action.id)).toMatchObject({ status: 'completed', done: 3 });
  });

  it.each([
    ['advance', ['batch_b', 'batch_c']],
    ['claim', ids],
  ] as const)('continues at once after a stop that falls into the %s of an action', async (name, left) => {
    const stopping: { done?: Promise<void> } = {};
    const call = store.actions[name] as (...args: unknown[]) => Promise<never>;
    const stopped = (...args: unknown[]) => {
      stopping.done ??= actions.stop();
      return call(...args);
    };
    await store.workers.beat('one', { interactive: {} });
    const actions = process('one', async () => 'done');
    const { action } = await actions.create(by(), request, undefined, signal);
    store.actions = { ...store.actions, [name]: stopped };
    actions.start();
    await clock.advance(0);
    await stopping.done;
    const other = working('two');
    other.actions.start();
    await clock.advance(0);
    expect(other.seen).toEqual(left);
    expect((await other.actions.get(by(), action.id)).status).toBe('completed');
  });

  it('continues at once where the process that held it is no live one', async () => {
    const { action } = await startHanging();
    await store.workers.clear();
    const other = working('two');
    other.actions.start();
    await clock.advance(0);
    expect(other.seen).toEqual(['batch_b', 'batch_c']);
    expect(await other.actions.get(by(), action.id)).toMatchObject({ status: 'completed', done: 3 });
  });

  it('continues at once after a failure of the database', async () => {
    let failures = 1;
    const actions = process('one', async (_action, id) => {
      if (id === 'batch_b' && failures-- > 0) throw new ApiError('storage_unavailable', 'away');
      return 'done';
    });
    const { action } = await actions.create(by(), request, undefined, signal);
    actions.start();
    await clock.advance(0);
    expect(await actions.get(by(), action.id)).toMatchObject({ status: 'running', done: 1 });
    await clock.advance(1_500);
    expect(await actions.get(by(), action.id)).toMatchObject({ status: 'completed', done: 3 });
  });

  it('records the failure of a batch and goes on', async () => {
    const error = new ApiError('queued_requests_exceeded', 'Too many.');
    const actions = process('one', async (_action, id) => (id === 'batch_b' ? error : 'skipped'));
    const { action } = await actions.create(by(), request, undefined, signal);
    actions.start();
    await clock.advance(0);
    expect(await actions.get(by(), action.id)).toMatchObject({
      status: 'completed',
      done: 0,
      failed: 1,
      skipped: 2,
      failures: [{ batchId: 'batch_b', code: 'queued_requests_exceeded', message: 'Too many.' }],
    });
  });

  it('stops before the next batch when it is cancelled, also from another process', async () => {
    const seen: string[] = [];
    const other = process('two', async () => 'done');
    const actions = process('one', async (action, id) => {
      seen.push(id);
      if (id === 'batch_b') await other.cancel(by(), action.id);
      return 'done';
    });
    const { action } = await actions.create(by(), request, undefined, signal);
    actions.start();
    await clock.advance(5_000);
    expect(seen).toEqual(['batch_a', 'batch_b']);
    expect(await other.get(by(), action.id)).toMatchObject({ status: 'cancelled', done: 1 });
  });

  it('ends when its key is revoked', async () => {
    const { seen, actions } = working('one');
    const { action } = await actions.create(by(), request, undefined, signal);
    key = { ...key, revokedAt: clock.now() };
    actions.start();
    await clock.advance(0);
    expect(seen).toEqual([]);
    expect((await actions.get(by(), action.id)).status).toBe('cancelled');
  });

  it('forgets ended actions after a week', async () => {
    const { actions } = working('one');
    const { action } = await actions.create(by(), request, undefined, signal);
    actions.start();
    await clock.advance(0);
    expect((await actions.get(by(), action.id)).status).toBe('completed');
    await actions.stop();
    await clock.advance(8 * 24 * 3_600_000);
    actions.start();
    await clock.advance(0);
    await expect(actions.get(by(), action.id)).rejects.toMatchObject({ code: 'not_found' });
    await actions.stop();
  });
});
