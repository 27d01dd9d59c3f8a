import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { type BatchPause, findPause } from '../../core/controls.ts';
import type { LineRate } from '../../core/worker-load.ts';
import type { OpenBatch, OpenLines } from '../../store/contract/batches.ts';
import { OpenWork, type OpenWorkDeps } from './open-work.ts';

let clock: ManualClock;
let open: OpenBatch[];
let lines: OpenLines[];
let own: Record<string, LineRate>;
let elsewhere: LineRate[];
/** Batches of each statement. */
let asked: (readonly string[])[];
let work: OpenWork;
let pauses: BatchPause[];

const batch = (id: string, more: Partial<OpenBatch> = {}): OpenBatch => ({
  id,
  orgId: 'a',
  keyId: 'key_1',
  keyFamily: null,
  model: 'tiny',
  due: 0,
  total: 10,
  ok: 0,
  err: 0,
  createdAt: clock.now(),
  inProgressAt: null,
  expiresAt: clock.now() + 3_600_000,
  pausedAt: null,
  pausedMs: 0,
  est: 0,
  atRiskAt: null,
  ...more,
});
const sums = (batchId: string, model = 'tiny', requests = 10, tokens = 1_000): OpenLines => ({
  batchId,
  model,
  requests,
  tokens,
});
const read = async () => {
  await clock.advance(1_000);
  return (await work.read()).models;
};

beforeEach(() => {
  clock = createManualClock();
  [open, lines, own, elsewhere, asked] = [[batch('b')], [sums('b')], {}, [], []];
  pauses = [];
  work = new OpenWork({
    store: {
      batches: {
        listOpen: () => Promise.resolve(open),
        openLines: (ids) => {
          asked.push(ids);
          return Promise.resolve(lines.filter(({ batchId }) => ids.includes(batchId)));
        },
      },
    },
    peers: { idOf: (name) => (name === 'alias' ? 'tiny' : name), ratesElsewhere: () => elsewhere },
    throughput: { rates: () => own },
    controls: { pausing: (orgId, model) => findPause(pauses, { orgId, model }) },
    clock,
    time: clock,
    hours: { find: () => undefined },
    budgets: {
      waiting: (orgId) =>
        orgId === 'spent' ? { reason: 'budget', message: '', since: 0, until: null } : null,
    } as OpenWorkDeps['budgets'],
  });
});

describe('the work left', () => {
  it('falls with the lines of a batch, whose chunks are summed once', async () => {
    expect(await read()).toMatchObject([{ model: 'tiny', requests: 10, tokens: 1_000 }]);
    open = [batch('b', { ok: 3, err: 1 })];
    expect(await read()).toMatchObject([{ model: 'tiny', requests: 6, tokens: 600 }]);
    expect(asked).toEqual([['b']]);
  });

  it('of a batch with several models is read again after new results', async () => {
    open = [batch('b', { model: null })];
    lines = [sums('b', 'tiny', 5, 500), sums('b', 'big', 5, 5_000)];
    expect(await read()).toMatchObject([{ requests: 5 }, { model: 'big', requests: 5, tokens: 5_000 }]);
    open = [batch('b', { model: null, ok: 4 })];
    // One chunk of three lines is in work, and two of its lines have results.
    lines = [sums('b', 'tiny', 3, 300), sums('b', 'big', 5, 5_000)];
    expect(await read()).toMatchObject([
      { model: 'tiny', requests: 2, tokens: 225 },
      { model: 'big', requests: 4, tokens: 3_750 },
    ]);
    await read();
    expect(asked).toHaveLength(2);
  });

  it('is read again before its second is over, when a batch was created meanwhile', async () => {
    await work.read();
    open = [batch('b'), batch('c')];
    lines = [sums('b'), sums('c')];
    expect((await work.read()).models).toMatchObject([{ requests: 10 }]);
    work.forget();
    expect((await work.read()).models).toMatchObject([{ requests: 20 }]);
    // A report that was being read then may lack the batch, and is not given again.
    await clock.advance(1_000);
    const reading = work.read();
    work.forget();
    open = [];
    await reading;
    expect((await work.read()).models).toEqual([]);
  });

  it('is summed under the id of a model, whichever of its names a batch froze', async () => {
    open = [batch('b'), batch('c')];
    lines = [sums('b'), sums('c', 'alias')];
    expect(await read()).toMatchObject([{ model: 'tiny', requests: 20 }]);
  });

  it('excludes batches that nothing but their owner can make run', async () => {
    open = [batch('b', { pausedAt: clock.now() }), batch('c', { orgId: 'spent' })];
    lines = [sums('b'), sums('c')];
    expect(await read()).toEqual([]);
    expect((await work.read()).open).toMatchObject([
      { orgId: 'a', batches: 1 },
      { orgId: 'spent', batches: 1 },
    ]);
  });

  it('excludes the lines of a model that an operator pauses, also of a batch with other models', async () => {
    open = [batch('b', { model: null })];
    lines = [sums('b', 'tiny', 5, 500), sums('b', 'big', 5, 5_000)];
    pauses = [{ model: 'tiny', orgId: null, since: 0, keyId: 'key_1' }];
    expect(await read()).toMatchObject([{ model: 'big', requests: 5, tokens: 5_000 }]);
    pauses = [{ model: null, orgId: 'other', since: 0, keyId: 'key_1' }];
    expect(await read()).toHaveLength(2);
  });

  it('of a batch of one model comes from its row', async () => {
    open = [batch('batch_b', { est: 1_000, ok: 4 })];
    expect(await read()).toMatchObject([{ model: 'tiny', requests: 6, tokens: 600 }]);
    expect(asked).toEqual([]);
  });

  it('is read in the background where it takes long', async () => {
    const answers: PromiseWithResolvers<OpenBatch[]>[] = [];
    const next = () => {
      answers.push(Promise.withResolvers());
      return answers.at(-1)!.promise;
    };
    const slow = new OpenWork({ ...depsOf(next), ...budgetless, clock, throughput: { rates: () => ({}) } });
    const [none, one] = [[], [batch('batch_b', { est: 1_000 })]];
    const first = slow.read();
    await clock.advance(200);
    answers[0]!.resolve(none);
    expect((await first).open).toEqual([]);
    // The report took a fiftieth of the time that it is given again, also after a creation.
    await clock.advance(9_700);
    slow.forget();
    expect((await slow.read()).open).toEqual([]);
    expect(answers).toHaveLength(1);
    await clock.advance(200);
    expect((await slow.read()).open).toEqual([]);
    expect(answers).toHaveLength(2);
    answers[1]!.resolve(one);
    await clock.advance(0);
    expect((await slow.read()).open).toMatchObject([{ orgId: 'a', model: 'tiny', batches: 1, lines: 10 }]);
    // It is fast again.
    await clock.advance(1_000);
    const last = slow.read();
    answers[2]!.reject(new Error('away'));
    await expect(last).rejects.toThrow('away');
  });

  it('asks for few batches in one statement', async () => {
    open = Array.from({ length: 20 }, (_, n) => batch(`b${n}`));
    lines = open.map(({ id }) => sums(id));
    expect(await read()).toMatchObject([{ requests: 200 }]);
    expect(asked.map((ids) => ids.length)).toEqual([8, 8, 4]);
  });

  it('is shared by callers within a second, and by those that wait for it', async () => {
    await Promise.all([work.read(), work.read()]);
    open = [batch('c')];
    await clock.advance(999);
    await work.read();
    expect(asked).toEqual([['b']]);
    let reads = 0;
    const { promise, resolve } = Promise.withResolvers<OpenBatch[]>();
    const slow = new OpenWork({
      ...depsOf(() => (reads++, promise)),
      clock,
      throughput: { rates: () => ({}) },
    });
    const first = slow.read();
    await clock.advance(60_000);
    const second = slow.read();
    resolve([]);
    expect(await first).toBe(await second);
    expect(reads).toBe(1);
  });

  it('is read again after a failure', async () => {
    let tries = 0;
    const failing = () => (tries++, Promise.reject(new Error('no')));
    const broken = new OpenWork({ ...depsOf(failing), clock });
    await expect(broken.read()).rejects.toThrow('no');
    await expect(broken.read()).rejects.toThrow('no');
    expect(tries).toBe(2);
  });
});

const budgetless = {
  budgets: { waiting: () => null } as unknown as OpenWorkDeps['budgets'],
  hours: { find: () => undefined },
  peers: { idOf: (name: string) => name, ratesElsewhere: () => [] },
  controls: { pausing: () => null } as OpenWorkDeps['controls'],
  get time() {
    return clock;
  },
};

const depsOf = (listOpen: () => Promise<OpenBatch[]>) =>
  ({ store: { batches: { listOpen } } }) as unknown as OpenWorkDeps;

describe('the rate', () => {
  const rate = (tokensPerSecond: number, idleMs = 0): LineRate => ({ tokensPerSecond, idleMs });

  it('is that of all processes, and gives the time to finish and the slack', async () => {
    own = { tiny: rate(6) };
    elsewhere = [rate(4)];
    expect(await read()).toMatchObject([{ seconds: 100, slackSeconds: 3_600 - 1 - 100 }]);
  });

  it('is that of the busy processes while one is', async () => {
    own = { tiny: rate(10) };
    elsewhere = [rate(90, 60_000)];
    expect(await read()).toMatchObject([{ seconds: 100 }]);
    own = { tiny: rate(10, 3_600_000) };
    expect(await read()).toMatchObject([{ seconds: 10 }]);
  });

  it('is unknown on a new server', async () => {
    expect(await read()).toMatchObject([{ seconds: null, slackSeconds: null }]);
  });
});
