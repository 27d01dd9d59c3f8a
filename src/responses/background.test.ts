import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { silent } from '../base/log.ts';
import type { StoredResponse } from '../core/response.ts';
import { type MemoryStore, createMemoryStore } from '../../test/support/memory-store.ts';
import { newResponse } from '../wire/responses/answer/response-body.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { type Background, createBackground, leaseMs } from './background.ts';

const clock = createManualClock();
let memory: MemoryStore;
const started: Background[] = [];

beforeEach(async () => {
  memory = createMemoryStore({ clock });
  await memory.start();
});
afterEach(async () => {
  for (const background of started.splice(0)) await background.stop();
  await memory.stop();
});

async function start(exclusive = false, store = memory.responses): Promise<Background> {
  const background = createBackground({
    store,
    otherStores: [],
    clock,
    log: silent,
    exclusive,
    roomBytes: 8_000,
  });
  started.push(background);
  await background.start();
  return background;
}

let count = 0;

async function begin(fields: Partial<StoredResponse> = {}): Promise<ResponseBody> {
  const id = `resp_${(++count).toString(16).padStart(32, '0')}`;
  const request = { model: 'm', input: 'x', background: true };
  const body = newResponse(request, { id, createdAt: 1, model: 'm', status: 'in_progress' });
  await memory.responses.insert([
    {
      id,
      orgId: 'org_a',
      keyId: null,
      status: 'in_progress',
      previousId: null,
      createdAt: clock.now(),
      expiresAt: clock.now() + 10 * leaseMs,
      aliveUntil: clock.now() + leaseMs,
      saidBytes: 2,
      input: '[]',
      output: '[]',
      body: JSON.stringify(body),
      pieces: null,
      ...fields,
    },
  ]);
  return body;
}

const rowOf = (id: string) => memory.responses.get('org_a', id, 0);

/** Work that ends when the test lets it, and records whether it was aborted. */
function work(body: ResponseBody) {
  let finish = () => {};
  const state = { aborted: false, finish: () => finish() };
  const make = (signal: AbortSignal) =>
    new Promise<ResponseBody>((resolve, reject) => {
      finish = () => resolve({ ...body, status: 'completed' });
      signal.addEventListener('abort', () => {
        state.aborted = true;
        reject(signal.reason as Error);
      });
    });
  return { state, make };
}

describe('a response in the background', () => {
  it('is kept when it is finished', async () => {
    const background = await start();
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    await clock.advance(0);
    state.finish();
    await clock.advance(0);
    expect(await rowOf(begun.id)).toMatchObject({ status: 'completed', aliveUntil: null });
  });

  it('is kept when the database is back that was away at its end', async () => {
    let isAway = true;
    const finish: typeof memory.responses.finish = (...asked) =>
      isAway ? Promise.reject(new Error('the database is away')) : memory.responses.finish(...asked);
    const background = await start(false, { ...memory.responses, finish });
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    await clock.advance(0);
    state.finish();
    await clock.advance(30_000);
    expect(await rowOf(begun.id)).toMatchObject({ status: 'in_progress' });
    isAway = false;
    await clock.advance(10_000);
    expect(await rowOf(begun.id)).toMatchObject({ status: 'completed', aliveUntil: null });
  });

  it('is kept though the database was away until nothing in it said that it is being made', async () => {
    let isAway = false;
    const unlessAway =
      <A extends unknown[], R>(operation: (...asked: A) => Promise<R>) =>
      (...asked: A) =>
        isAway ? Promise.reject(new Error('the database is away')) : operation(...asked);
    const store: typeof memory.responses = {
      ...memory.responses,
      finish: unlessAway((...asked) => memory.responses.finish(...asked)),
      renew: unlessAway((...asked) => memory.responses.renew(...asked)),
    };
    const background = await start(false, store);
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    await clock.advance(5_000);
    isAway = true;
    await clock.advance(5_000);
    state.finish();
    await clock.advance(leaseMs - 5_000);
    isAway = false;
    expect((await background.failIfAbandoned((await rowOf(begun.id))!)).status).toBe('in_progress');
    await clock.advance(10_000);
    expect(await rowOf(begun.id)).toMatchObject({ status: 'completed', aliveUntil: null });
  });

  it('is tried to be kept once more when its process stops, and no longer', async () => {
    let tries = 0;
    const finish = () => {
      tries++;
      return Promise.reject(new Error('the database is away'));
    };
    const background = await start(false, { ...memory.responses, finish });
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    await clock.advance(0);
    state.finish();
    await clock.advance(0);
    expect(tries).toBe(1);
    await background.stop();
    expect(tries).toBe(2);
  });

  it('lives as long as its process says so, however long it takes', async () => {
    const background = await start();
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    for (let n = 0; n < 9; n++) await clock.advance(leaseMs / 2);
    const row = (await rowOf(begun.id))!;
    expect(row.aliveUntil).toBeGreaterThan(clock.now());
    expect((await background.failIfAbandoned(row)).status).toBe('in_progress');
    expect(state.aborted).toBe(false);
  });

  it.each([25, -25])('lives on when the clock jumps by %i hours', async (hours) => {
    const background = await start();
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    clock.jump(hours * 3_600_000);
    expect((await background.failIfAbandoned((await rowOf(begun.id))!)).status).toBe('in_progress');
    for (let n = 0; n < 150; n++) await clock.advance(leaseMs / 2);
    expect((await background.failIfAbandoned((await rowOf(begun.id))!)).status).toBe('in_progress');
    expect(state.aborted).toBe(false);
    clock.jump(-hours * 3_600_000);
  });

  it('has failed once its process was silent for too long, whoever looks first', async () => {
    const background = await start();
    const begun = await begin();
    await clock.advance(leaseMs - 1);
    expect((await background.failIfAbandoned((await rowOf(begun.id))!)).status).toBe('in_progress');
    await clock.advance(1);
    const seen = await background.failIfAbandoned((await rowOf(begun.id))!);
    expect(seen).toMatchObject({ status: 'failed', aliveUntil: null });
    expect(JSON.parse(seen.body)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('stopped before') },
    });
    expect(await rowOf(begun.id)).toMatchObject({ status: 'failed', body: seen.body });
  });

  it('has failed at the start of a process that is alone', async () => {
    const begun = await begin();
    await start(false);
    expect((await rowOf(begun.id))!.status).toBe('in_progress');
    await start(true);
    expect((await rowOf(begun.id))!.status).toBe('failed');
  });

  it('has failed when its process stops, and stop waits until that is written', async () => {
    const background = await start();
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    await background.stop();
    expect(state.aborted).toBe(true);
    expect(await rowOf(begun.id)).toMatchObject({ status: 'failed', aliveUntil: null });
  });

  it('stops here when another process cancelled or deleted it', async () => {
    const background = await start();
    const [cancelled, deleted] = [await begin(), await begin()];
    const works = [work(cancelled), work(deleted)];
    background.run(cancelled, works[0]!.make);
    background.run(deleted, works[1]!.make);
    await memory.responses.finish(cancelled.id, {
      status: 'cancelled',
      output: '[]',
      body: '{}',
      pieces: null,
    });
    await memory.responses.remove('org_a', deleted.id, 0);
    expect(works.map(({ state }) => state.aborted)).toEqual([false, false]);
    await clock.advance(leaseMs / 2);
    expect(works.map(({ state }) => state.aborted)).toEqual([true, true]);
    await clock.advance(0);
    expect((await rowOf(cancelled.id))!.status).toBe('cancelled');
    expect(await rowOf(deleted.id)).toBeUndefined();
  });

  it('is waited for here until it is done, and elsewhere a second at a time', async () => {
    const background = await start();
    const begun = await begin();
    const { state, make } = work(begun);
    background.run(begun, make);
    const controller = new AbortController();
    const seen: string[] = [];
    const wait = (id: string, name: string) =>
      background.changed(id, controller.signal).then(() => seen.push(name));
    const waiting = [wait(begun.id, 'here'), wait('resp_elsewhere', 'elsewhere')];
    await clock.advance(999);
    expect(seen).toEqual([]);
    await clock.advance(10_000);
    expect(seen).toEqual(['elsewhere']);
    state.finish();
    await Promise.all(waiting);
    expect(seen).toEqual(['elsewhere', 'here']);

    const another = await begin();
    background.run(another, work(another).make);
    const left = wait(another.id, 'left');
    controller.abort();
    await left;
    expect(seen.at(-1)).toBe('left');
  });

  it('is refused when an org or all of them have too many, or too large ones', async () => {
    const background = await start();
    const leaves = Array.from({ length: 500 }, () => background.reserve('org_a', 1));
    expect(() => background.reserve('org_a', 1)).toThrow(/Too many background responses/);
    leaves.push(background.reserve('org_b', 3_000));
    expect(() => background.reserve('org_b', 1_001)).toThrow(/Too many background responses/);
    leaves.push(background.reserve('org_c', 1_000));
    expect(() => background.reserve('org_d', 1)).toThrow(/Too many background responses/);
    for (const leave of leaves) leave();
    expect(() => background.reserve('org_d', 1)).not.toThrow();
  });
});

describe('maintenance', () => {
  it('removes what expired, every hour', async () => {
    await start();
    const begun = await begin({ aliveUntil: null, expiresAt: clock.now() + 1 });
    await clock.advance(3_500_000);
    expect(await rowOf(begun.id)).toBeDefined();
    await clock.advance(200_000);
    expect(await rowOf(begun.id)).toBeUndefined();
  });
});
