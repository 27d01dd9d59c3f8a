import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine } from '../../../test/support/fake-engine.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { ApiError, unavailable, permanent } from '../../core/errors.ts';
import { leaseSlots, type SlotLease } from '../../core/slot-leases.ts';
import type { ChatChunk, ChatResponse } from '../../wire/chat/chat.ts';
import type { Engine, EngineCall, ProbeReport } from '../engines.ts';
import { createPool, type ReconfigurablePool } from './pool.ts';
import type { ReplicaOptions } from './replica.ts';

interface Server extends Engine {
  /** Requests that wait for their answer, in order. */
  open: { call: EngineCall; answer: (text?: string) => void; fail: (error: Error) => void }[];
  asked: number;
  probed: () => Promise<ProbeReport>;
  /** Result of the minimal request: that of the latest request, unless a test sets another. */
  tried: () => Promise<void>;
}

/** A server whose every answer a test gives when it likes. */
function server(slots: number | null): Server {
  const open: Server['open'] = [];
  let down: Error | null = null;
  const one: Server = {
    ...createFakeEngine(),
    slots,
    open,
    asked: 0,
    probed: async () => ({ slots: null, queued: null }),
    tried: async () => {
      if (down) throw down;
    },
    generate(_, call) {
      one.asked++;
      return new Promise<ChatResponse>((resolve, reject) => {
        const leave = (then: () => void) => {
          open.splice(open.indexOf(entry), 1);
          then();
        };
        const entry = {
          call,
          answer: (text = 'fine') => {
            down = null;
            leave(() => resolve(chatResponse(text)));
          },
          fail: (error: Error) => {
            down = error;
            leave(() => reject(error));
          },
        };
        open.push(entry);
        call.signal.addEventListener('abort', () => entry.fail(call.signal.reason as Error));
      });
    },
    probe: () => one.probed(),
    tryOut: () => one.tried(),
  };
  return one;
}

const refused = new ApiError('upstream_unreachable', 'Nobody there.');
const broken = new ApiError('upstream_error', 'The server failed.');
const wrongKey = new ApiError('upstream_error', 'Refused.', {
  blame: { scope: 'account', certain: true, retry: true },
});
const noCredit = new ApiError('upstream_error', 'No credit.', {
  blame: { scope: 'account', certain: false, retry: true, hidden: true },
});
const bad = new ApiError('request_refused', 'No such field.', { blame: permanent });
const busy = new ApiError('engine_overloaded', 'Busy.', { blame: unavailable, retryAfter: 5 });
const tooFast = new ApiError('engine_overloaded', 'Too fast.', {
  blame: { ...unavailable, scope: 'model' },
  retryAfter: 900,
});
const noModel = new ApiError('model_not_found', 'No such model.', {
  blame: { ...unavailable, scope: 'model' },
});
const forever: EngineCall = { signal: new AbortController().signal, priority: 'interactive' };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('createPool', () => {
  let clock: ManualClock;
  let pool: ReconfigurablePool;

  beforeEach(() => {
    clock = createManualClock();
  });
  afterEach(() => pool.stop());

  function poolOf(servers: Server[], more: Partial<ReplicaOptions> = {}): ReconfigurablePool {
    const replicas = servers.map((engine, at) => replicaOf(engine, at, more));
    const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0.999_999 };
    pool = createPool({ replicas, queueMs: 10_000, clock, random, log: silent });
    return pool;
  }

  /** Tells what other processes know of the servers, as they do each second. */
  function tableOf(pools: readonly ReconfigurablePool[]) {
    let leases: SlotLease[] = [];
    return () => {
      for (const [at, each] of pools.entries()) {
        const { openBreakers } = each;
        const ask = { limit: 8, wants: 0, inFlight: 0, ...(openBreakers && { openBreakers }) };
        const renewed = leaseSlots(leases, `p${at}`, ask, clock.monotonic());
        leases = renewed.leases;
        each.share(renewed.share);
      }
    };
  }

  it.each([
    ['away', refused],
    ['that asks for a pause', busy],
  ])('a server %s is found out by one of the processes that ask it', async (_, failure) => {
    const [mine, theirs] = [server(4), server(4)];
    const other = poolOf([theirs]);
    const own = poolOf([mine]);
    const tell = tableOf([own, other]);
    const line = settled(own.generate(chatRequest(), { ...forever, priority: 'batch' }));
    await turn();
    mine.open[0]!.fail(failure);
    await line;
    tell();
    expect([own.openBreakers?.['gpu-0']?.cause.code, other.waiting?.code]).toEqual([
      failure.code,
      failure.code,
    ]);
    // Limits reported by peers are not published as discovered.
    expect(other.openBreakers).toBeUndefined();
    expect(await settled(other.generate(chatRequest(), { ...forever, priority: 'batch' }))).toBe(
      failure.code,
    );
    expect(theirs.asked).toBe(0);
    // The one that found it tries it first.
    await clock.advance(own.openBreakers!['gpu-0']!.ms);
    expect(own.replicas[0]!.health).not.toBe('open');
    expect(other.replicas[0]!.health).toBe('open');
    await clock.advance(2_000);
    expect(other.replicas[0]!.health).toBe('half-open');
    await other.stop();
  });

  const cause = { scope: 'replica', code: 'upstream_unreachable', message: 'Away.', since: 0 } as const;
  const told = { others: 0, discovered: null, openBreakers: { 'gpu-0': { ms: 5_000, cause } } };

  it('ignores peer reports about a server that last answered here or works on a request', async () => {
    const mine = server(4);
    const own = poolOf([mine]);
    const line = batch();
    await turn();
    own.share(told);
    expect(own.waiting).toBeNull();
    mine.open[0]!.answer();
    await line;
    await clock.advance(60_000);
    own.share(told);
    expect(own.waiting).toBeNull();
    const lost = settled(ask());
    await turn();
    mine.open[0]!.fail(broken);
    await lost;
    own.share(told);
    expect(own.waiting).toEqual(cause);
  });

  it('holds back only batches on a peer report', async () => {
    const mine = server(4);
    const own = poolOf([mine]);
    own.share(told);
    expect(await settled(batch())).toBe('upstream_unreachable');
    const asked = [1, 2, 3].map(() => settled(ask()));
    await turn();
    expect(mine.open).toHaveLength(3);
    while (mine.open.length > 0) mine.open[0]!.answer();
    expect(await Promise.all(asked)).toEqual(['answered', 'answered', 'answered']);
    expect(own.waiting).toBeNull();
  });

  it.each([
    ['refuses the key', wrongKey],
    ['asks a key for a pause', tooFast],
    ['lacks the model for a key', noModel],
  ])('tells others nothing of a server that %s, which theirs may not share', async (_, failure) => {
    const mine = server(4);
    const own = poolOf([mine]);
    mine.tried = async () => {};
    for (const error of [failure, refused, failure]) {
      const lost = settled(batch());
      await turn();
      mine.open[0]?.fail(error);
      await lost;
      if (error === failure) expect([own.waiting?.code, own.openBreakers]).toEqual([failure.code, undefined]);
      await clock.advance(own.openBreakers?.['gpu-0']?.ms ?? 3_600_000);
    }
  });

  const replicaOf = (engine: Server, at: number, more: Partial<ReplicaOptions> = {}): ReplicaOptions => {
    return { name: `gpu-${at}`, engine, account: `key-${at}`, weight: 1, isDraining: false, ...more };
  };

  const ask = (more: Partial<EngineCall> = {}) => pool.generate(chatRequest(), { ...forever, ...more });
  const batch = (more: Partial<EngineCall> = {}) => ask({ priority: 'batch', ...more });
  const settled = (work: Promise<unknown>) =>
    work.then(
      () => 'answered',
      (error: ApiError) => error.code,
    );

  it('has the slots of all replicas, and an eighth more in flight', () => {
    poolOf([server(16), server(8)]);
    expect([pool.slots, pool.maxInFlight]).toEqual([24, 27]);
  });

  it('starts once from the slots discovered before, if they are more', () => {
    const own = poolOf([server(null), server(null)]);
    const share = { others: 0, discovered: null, lastDiscovered: { 'gpu-0': 70, 'gpu-1': 12 } };
    own.share(share);
    expect(own.discovered).toEqual({ 'gpu-0': 70, 'gpu-1': 12 });
    own.share({ ...share, lastDiscovered: { 'gpu-0': 90 } });
    own.share(null);
    expect(own.discovered).toEqual({ 'gpu-0': 70, 'gpu-1': 12 });
  });

  it('does not start over from slots that it discovered itself', () => {
    const own = poolOf([server(null)]);
    own.share(null);
    own.share({ others: 0, discovered: null });
    own.share({ others: 0, discovered: null, lastDiscovered: { 'gpu-0': 70 } });
    expect(own.discovered).toEqual({ 'gpu-0': 8 });
  });

  it('retries on another replica when one is unreachable, and pauses that one', async () => {
    const [gone, well] = [server(4), server(4)];
    poolOf([gone, well]);
    const first = ask();
    await turn();
    gone.open[0]!.fail(refused);
    await turn();
    well.open[0]!.answer();
    expect((await first).choices[0]?.message.content).toBe('fine');
    expect(pool.replicas.map(({ health }) => health)).toEqual(['open', 'up']);
    expect(pool.waiting).toBeNull();
    const more = [ask(), ask(), ask()];
    await turn();
    expect([gone.asked, well.asked]).toEqual([1, 4]);
    while (well.open.length > 0) well.open[0]!.answer();
    await Promise.all(more);
  });

  it('uses a replica again when its back-off is over', async () => {
    const [gone, well] = [server(4), server(4)];
    poolOf([gone, well]);
    const first = ask();
    await turn();
    gone.open[0]!.fail(refused);
    await turn();
    well.open[0]!.answer();
    await first;
    await clock.advance(1_000);
    gone.tried = async () => {};
    const trial = batch({ prefix: 'x' });
    await turn();
    const others = [batch(), batch(), batch(), batch()];
    await turn();
    for (const each of [...gone.open, ...well.open]) each.answer();
    await Promise.all([trial, ...others]);
    expect(pool.replicas.map(({ health }) => health)).toEqual(['up', 'up']);
  });

  it('does not retry a failure of the request itself', async () => {
    const [one, other] = [server(4), server(4)];
    poolOf([one, other]);
    const asked = settled(ask());
    await turn();
    one.open[0]!.fail(bad);
    expect(await asked).toBe('request_refused');
    expect(other.asked).toBe(0);
    expect(pool.waiting).toBeNull();
  });

  it('retries an ambiguous failure on one other replica only', async () => {
    const servers = [server(4), server(4), server(4)];
    poolOf(servers);
    const asked = settled(ask());
    await turn();
    for (let i = 0; i < 2; i++) {
      servers.find(({ open }) => open.length > 0)!.open[0]!.fail(broken);
      await turn();
    }
    expect(await asked).toBe('upstream_error');
    expect(servers.reduce((sum, each) => sum + each.asked, 0)).toBe(2);
  });

  it('closes all replicas of an account whose key is refused', async () => {
    const servers = [server(4), server(4), server(4)];
    poolOf(servers, { account: 'one' });
    const asked = settled(ask());
    await turn();
    servers[0]!.open[0]!.fail(wrongKey);
    expect(await asked).toBe('upstream_error');
    expect(pool.replicas.map(({ health }) => health)).toEqual(['open', 'open', 'open']);
    expect(pool.waiting).toMatchObject({ scope: 'account' });
    expect(pool.maxInFlight).toBe(0);
  });

  it('holds back batches while no replica is up, and lets one request try', async () => {
    const one = server(4);
    poolOf([one]);
    const heard: number[] = [];
    pool.onRoom(() => heard.push(pool.maxInFlight));
    const asked = settled(batch());
    await turn();
    one.open[0]!.fail(refused);
    expect(await asked).toBe('upstream_unreachable');
    expect([pool.maxInFlight, await settled(batch())]).toEqual([0, 'upstream_unreachable']);
    expect(one.asked).toBe(1);
    await clock.advance(1_000);
    expect([pool.maxInFlight, heard.at(-1)]).toEqual([1, 1]);
    const tried = Promise.withResolvers<void>();
    one.tried = () => tried.promise;
    const trial = batch();
    await turn();
    expect([pool.maxInFlight, one.asked]).toEqual([0, 1]);
    tried.resolve();
    await turn();
    expect([pool.maxInFlight, one.asked]).toEqual([5, 2]);
    one.open[0]!.answer();
    await trial;
    expect([pool.maxInFlight, pool.waiting]).toEqual([5, null]);
  });

  it('never exceeds the slots of a half-open server with requests still in flight', async () => {
    const one = server(1);
    poolOf([one]);
    const asked = [batch(), batch()];
    await turn();
    one.probed = () => Promise.reject(refused);
    await pool.probe();
    await clock.advance(1_000);
    expect([pool.replicas[0]?.health, one.open.length, pool.maxInFlight]).toEqual(['half-open', 2, 0]);
    one.open[0]!.answer();
    one.open[0]!.answer();
    await Promise.all(asked);
  });

  it('asks for no line to try a suspected server that interactive requests fill, because it would refuse the line', async () => {
    const one = server(1);
    poolOf([one]);
    for (let i = 0; i < 3; i++) {
      const failing = settled(ask());
      await turn();
      one.open[0]!.fail(broken);
      await failing;
    }
    await clock.advance(2_000);
    expect([pool.replicas[0]?.health, pool.maxInFlight]).toEqual(['half-open', 1]);
    const asked = [settled(ask()), settled(ask())];
    await turn();
    expect([one.open.length, pool.maxInFlight]).toEqual([2, 0]);
    one.open[0]!.answer();
    one.open[0]!.answer();
    await Promise.all(asked);
    expect(pool.maxInFlight).toBe(2);
  });

  it('has the capabilities that all its servers share', () => {
    const [one, other] = [server(1), server(1)];
    const { capabilities } = other;
    poolOf([
      { ...one, capabilities: { ...capabilities, jsonSchema: 'exact' } },
      { ...other, capabilities: { ...capabilities, jsonSchema: 'none' } },
    ]);
    expect(pool.capabilities.jsonSchema).toBe('none');
  });

  it('uses a server at its full pace once it no longer refuses every trial', async () => {
    const one = server(1);
    poolOf([one]);
    const busyNow = new ApiError('engine_overloaded', 'Busy.', { blame: unavailable, retryAfter: 1 });
    const send = async (land: () => void) => {
      const sent = settled(pool.generate(chatRequest(), { ...forever, priority: 'batch' }));
      await turn();
      land();
      return sent;
    };
    await send(() => one.open[0]!.answer());
    for (let trial = 0; trial < 30; trial++) {
      await send(() => one.open[0]?.fail(busyNow));
      await clock.advance(2_000);
    }
    one.tried = async () => {};
    let answered = 0;
    for (let n = 0; n < 10; n++) {
      void send(() => one.open[0]?.answer()).then((outcome) => (answered += outcome === 'answered' ? 1 : 0));
      await clock.advance(1_000);
    }
    expect(answered).toBe(10);
  });

  describe('F18: a server with a retry-after of a day', () => {
    const minute = 60_000;
    const day = new ApiError('engine_overloaded', 'Too much.', { blame: unavailable, retryAfter: 86_400 });
    let one: Server;

    beforeEach(() => {
      one = server(4);
      poolOf([one]);
    });

    /** @param left minutes until it expires; absent for an interactive request */
    async function send(left: number | undefined, land: () => void): Promise<void> {
      const deadline = left === undefined ? {} : { deadline: clock.now() + left * minute };
      const priority = left === undefined ? ('interactive' as const) : ('batch' as const);
      const asked = settled(pool.generate(chatRequest(), { ...forever, priority, ...deadline }));
      await turn();
      land();
      await asked;
    }
    // Later it refuses the least work there is.
    const refuse = () => one.open[0]?.fail(day);
    const answer = () => one.open[0]!.answer();

    async function expectOneTrialAfter(minutes: number): Promise<void> {
      await clock.advance(minutes * minute - 1);
      expect(pool.maxInFlight).toBe(0);
      await clock.advance(1);
      expect(pool.maxInFlight).toBe(1);
    }

    it('is tried again in time for the refused batch', async () => {
      await send(10, refuse);
      await expectOneTrialAfter(5);
      await send(5, refuse);
      await expectOneTrialAfter(2.5);
      expect(one.asked).toBe(1);
      one.tried = async () => {};
      await send(2.5, answer);
      expect(pool.waiting).toBeNull();
    });

    it('is tried as soon where another batch sent to it is over', async () => {
      await send(1, answer);
      await clock.advance(2 * minute);
      await send(20, refuse);
      await expectOneTrialAfter(10);
    });

    it('is tried in time for a later batch with a shorter window', async () => {
      await send(7 * 24 * 60, refuse);
      await expectOneTrialAfter(60);
    });

    it('is tried for interactive requests', async () => {
      await send(undefined, refuse);
      await expectOneTrialAfter(60);
      await send(undefined, answer);
      expect(pool.waiting).toBeNull();
    });

    it('is tried by processes that know of it only from a peer', async () => {
      const own = pool;
      const theirs = poolOf([server(4)]);
      const tell = tableOf([own, theirs]);
      const line = settled(own.generate(chatRequest(), { ...forever, priority: 'batch' }));
      await turn();
      refuse();
      await line;
      tell();
      expect(theirs.maxInFlight).toBe(0);
      for (let waited = 0; waited < 60; waited++) {
        await clock.advance(minute);
        tell();
      }
      await clock.advance(2_000);
      expect(theirs.maxInFlight).toBe(1);
      await own.stop();
    });

    it('is not paused longer on a peer report', async () => {
      pool.share({ ...told, openBreakers: { 'gpu-0': { ms: 86_400_000, cause } } });
      await expectOneTrialAfter(60 + 2 / 60);
    });
  });

  it('records the progress of a call in its trace', async () => {
    const [one, other] = [server(1), server(1)];
    poolOf([one, other]);
    const known: CallTrace = {};
    const asked = pool.generate(chatRequest(), { ...forever, trace: known });
    await turn();
    const first = one.asked === 1 ? one : other;
    first.open[0]!.fail(refused);
    await turn();
    await clock.advance(25);
    (first === one ? other : one).open[0]!.answer();
    await asked;
    expect(known).toEqual({
      server: first === one ? 'gpu-1' : 'gpu-0',
      begunAt: 0,
      calls: 1,
      serversAsked: 2,
      queuedMs: 0,
      firstOutputMs: 25,
      answerId: 'chatcmpl_engine',
    });
  });

  it('sends nothing to a server of unknown capabilities, which lower the common ones only once known', async () => {
    const [one, other] = [server(1), server(1)];
    const { capabilities } = one;
    const exact = { ...capabilities, jsonSchema: 'exact' as const };
    let seen: Engine['capabilities'] = { ...capabilities, isGuess: true };
    const unseen: Server = Object.defineProperty(other, 'capabilities', { get: () => seen });
    other.probed = () => Promise.reject(refused);
    poolOf([{ ...one, capabilities: exact }, unseen]);
    await pool.probe();
    expect(pool.capabilities.jsonSchema).toBe('exact');
    const asked = [ask(), ask(), ask(), ask()];
    await clock.advance(1_000);
    await turn();
    expect([one.open.length, other.asked, pool.capabilities.jsonSchema]).toEqual([3, 0, 'exact']);
    other.probed = async () => {
      seen = capabilities;
      return { slots: null, queued: null };
    };
    await clock.advance(30_000);
    await turn();
    expect([other.asked, pool.capabilities.jsonSchema]).toEqual([1, 'none']);
    for (const each of [...one.open, ...other.open]) each.answer();
    await Promise.all(asked);
  });

  it('tries a server that rejects probes', async () => {
    const one = server(1);
    one.probed = () =>
      Promise.reject(new ApiError('engine_overloaded', 'no lists now', { blame: unavailable }));
    poolOf([{ ...one, capabilities: { ...one.capabilities, isGuess: true } }]);
    await pool.probe();
    const asked = ask();
    await clock.advance(30_000);
    await turn();
    expect(one.asked).toBe(1);
    one.open[0]!.answer();
    await asked;
  });

  it('tries a server that answers requests but not probes', async () => {
    const one = server(1);
    poolOf([{ ...one, capabilities: { ...one.capabilities, isGuess: true } }]);
    await pool.probe();
    one.probed = () => Promise.reject(refused);
    await pool.probe();
    expect(pool.maxInFlight).toBe(0);
    one.probed = () => Promise.reject(broken);
    await clock.advance(1_000);
    await turn();
    const trial = ask();
    await turn();
    one.open[0]!.answer();
    await trial;
    expect(pool.waiting).toBeNull();
  });

  it.each([
    ['lacks the model', noModel, 'open'],
    [
      'loads its model',
      new ApiError('engine_overloaded', 'Loading model', { blame: unavailable }),
      'half-open',
    ],
    ['is not there', new ApiError('upstream_unreachable', 'Nobody.', { blame: unavailable }), 'half-open'],
  ])(
    'asks a server that %s again by itself, until it is well or answers all the same',
    async (_, error, still) => {
      const one = server(4);
      one.probed = () => Promise.reject(error);
      poolOf([one]);
      await pool.probe();
      expect(pool.replicas[0]).toMatchObject({ health: 'open', waiting: { code: error.code } });
      await clock.advance(1_000);
      await turn();
      expect(pool.replicas[0]?.health).toBe(still);
      one.probed = async () => ({ slots: null, queued: null });
      await clock.advance(4_000);
      await turn();
      expect(pool.replicas[0]).toMatchObject({ health: 'up', waiting: null });
      const asked = ask();
      await turn();
      await clock.advance(10);
      one.open[0]!.answer();
      await asked;
      one.probed = () => Promise.reject(noModel);
      await pool.probe();
      expect(pool.replicas[0]?.health).toBe('up');
      one.probed = async () => ({ slots: null, queued: null });
    },
  );

  it('lets a request try a server that rejects probes, and probes it ever more rarely', async () => {
    const one = server(4);
    const asked: number[] = [];
    const startedAt = clock.monotonic();
    let error = wrongKey;
    one.probed = () => {
      asked.push((clock.monotonic() - startedAt) / 1000);
      return Promise.reject(error);
    };
    poolOf([one]);
    await pool.probe();
    await clock.advance(3_600_000);
    expect(asked.slice(0, 10)).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511]);
    expect(asked.length).toBeLessThan(22);
    error = refused;
    await clock.advance(300_000);
    expect(pool.replicas[0]).toMatchObject({ health: 'half-open', waiting: { code: refused.code } });
    expect(pool.maxInFlight).toBe(1);
    error = wrongKey;
    const trial = batch();
    await turn();
    one.open[0]!.answer();
    await trial;
    const before = asked.length;
    await clock.advance(3_600_000);
    expect(asked.length).toBe(before);
    expect(pool.replicas[0]).toMatchObject({ health: 'up', waiting: null });
  });

  it('sends interactive requests despite a suspicion, which others may have caused', async () => {
    const one = server(4);
    poolOf([one]);
    for (let i = 0; i < 3; i++) {
      const asked = settled(ask());
      await turn();
      one.open[0]!.fail(broken);
      await asked;
    }
    expect(pool.waiting).toMatchObject({ code: 'upstream_error' });
    expect(await settled(batch())).toBe('upstream_error');
    const mine = ask();
    await turn();
    one.open[0]!.answer();
    await mine;
    expect(pool.waiting).toBeNull();
  });

  it('tests a server before a line where single requests are refused one after the other', async () => {
    const one = server(4);
    poolOf([one]);
    const refusedOnce = async () => {
      const asked = settled(ask());
      await turn();
      one.open.at(-1)!.fail(broken);
      await asked;
    };
    for (let i = 0; i < 3; i++) await refusedOnce();
    expect(await settled(batch())).toBe('upstream_error');
    await clock.advance(2_000);
    await refusedOnce();
    const tried = Promise.withResolvers<void>();
    one.tried = () => tried.promise;
    const line = batch();
    await turn();
    await refusedOnce();
    expect([pool.replicas[0]!.health, one.open.length]).toEqual(['half-open', 0]);
    tried.resolve();
    await turn();
    expect([pool.waiting, one.open.length]).toEqual([null, 1]);
    one.open[0]!.answer();
    await line;
  });

  describe('a line that fails', () => {
    let one: Server;
    let tries = 0;
    beforeEach(() => {
      one = server(4);
      poolOf([one]);
      tries = 0;
      one.tried = async () => void tries++;
    });

    /** A line fails alone, `failedBefore` or not. */
    async function lose(error: ApiError, failedBefore = false) {
      const line = settled(batch({ isRepeat: failedBefore }));
      await turn();
      one.open.at(-1)!.fail(error);
      await line;
      await turn();
    }
    const closing = new ApiError('engine_overloaded', 'Closed.', { blame: unavailable });

    it.each([
      ['fails on', broken],
      ['refuses', closing],
      ['asks for a pause', busy],
    ])('alone leaves its server up that %s it, and others get through', async (_, error) => {
      for (const failedBefore of [false, true, true]) {
        const failedAt = clock.monotonic();
        await lose(error, failedBefore);
        expect([pool.waiting, pool.outcomes.workedAt]).toEqual([null, failedAt]);
        const single = ask();
        await turn();
        one.open[0]!.answer();
        expect(await single).toMatchObject({ object: 'chat.completion' });
        await clock.advance(1_000);
      }
      expect(tries).toBe(3);
    });

    it.each([
      ['fails on', broken],
      ['refuses', closing],
      ['asks for a pause', busy],
    ])('alone has its server left alone that %s the least work, too', async (_, error) => {
      one.tried = () => Promise.reject(error);
      await lose(error);
      expect(pool.waiting).toMatchObject({ code: error.code });
      expect(pool.outcomes.workedAt).toBe(Number.NEGATIVE_INFINITY);
      expect([await settled(batch()), one.asked]).toEqual([error.code, 1]);
    });

    it('does not by itself contradict a server that reports itself healthy', async () => {
      one.tried = () => Promise.reject(broken);
      one.probed = async () => ({ slots: null, queued: null });
      for (let n = 0; n < 20; n++) {
        await settled(Promise.race([lose(broken), clock.advance(30_000)]));
        await clock.advance(30_000);
      }
      expect([pool.outcomes.workedAt, one.asked]).toEqual([Number.NEGATIVE_INFINITY, 1]);
    });

    it('does not close a server that works on others, however often it fails', async () => {
      const other = batch();
      await turn();
      for (let n = 0; n < 10; n++) {
        const line = settled(batch({ isRepeat: true }));
        await turn();
        one.open.at(-1)!.fail(n % 2 === 0 ? broken : busy);
        await line;
        expect(pool.waiting).toBeNull();
        await clock.advance(1_000);
      }
      // Nothing was answered for long.
      expect(tries).toBeGreaterThan(2);
      one.open[0]!.answer();
      await other;
    });

    it('tests the server at once after two others, and holds nothing back if it works', async () => {
      const lines = [1, 2, 3, 4].map(() => settled(batch()));
      await turn();
      for (const { fail } of one.open.slice(0, 3)) fail(broken);
      await Promise.all(lines.slice(0, 3));
      await turn();
      expect([pool.waiting, tries]).toEqual([null, 1]);
      one.open[0]!.answer();
      await lines[3];
    });

    it('is not tested where credit is missing, because less work may be affordable', async () => {
      await lose(noCredit);
      expect([tries, pool.outcomes.workedAt]).toEqual([0, Number.NEGATIVE_INFINITY]);
    });

    it('is not blamed for a request that was not sent', async () => {
      one.tried = () => Promise.reject(closing);
      await lose(closing);
      await clock.advance(30_000);
      await expect(batch()).rejects.toMatchObject({ blame: { scope: 'model', certain: true } });
      expect(one.asked).toBe(1);
    });
  });

  it('probes a server that works again, because its slots may have changed', async () => {
    const one = server(null);
    const slots = [2, 6];
    one.probed = async () => ({ slots: slots.shift()!, queued: null });
    await poolOf([one]).start();
    await turn();
    expect(pool.slots).toBe(2);
    const lost = settled(ask());
    await turn();
    one.open[0]!.fail(refused);
    expect(await lost).toBe('upstream_unreachable');
    await clock.advance(1_000);
    const trial = ask();
    await turn();
    one.open[0]!.answer();
    await trial;
    await turn();
    expect(pool.slots).toBe(6);
  });

  it('probes a server that reports its queue every second under load, even after a report without one', async () => {
    const one = server(null);
    let asked = 0;
    one.probed = async () => ({ slots: null, queued: ++asked === 2 ? null : 0 });
    await poolOf([one]).start();
    await turn();
    const work = [ask(), ask()];
    await turn();
    one.open[0]!.answer();
    await work[0];
    for (const due of [2, 3, 4]) {
      await clock.advance(1_000);
      await turn();
      expect(asked).toBe(due);
    }
    one.open[0]!.answer();
    await work[1];
    await clock.advance(10_000);
    expect(asked).toBe(5);
  });

  it('probes a server that reports its slots every 30 s under load, unless they are configured', async () => {
    const [one, set] = [server(null), server(2)];
    const asked = [0, 0];
    one.probed = async () => ({ slots: asked[0]!++ === 0 ? 2 : 6, queued: null });
    set.probed = async () => ({ slots: asked[1]!++ === 0 ? 2 : 6, queued: null });
    await poolOf([one, set]).start();
    await turn();
    const work = [ask(), ask(), ask(), ask()];
    await turn();
    for (const { open } of [one, set]) open[0]!.answer();
    await turn();
    await clock.advance(29_000);
    expect([asked, pool.slots]).toEqual([[1, 1], 4]);
    await clock.advance(1_000);
    await turn();
    expect([asked, pool.slots]).toEqual([[2, 1], 8]);
    for (const { open } of [one, set]) open[0]!.answer();
    await Promise.all(work);
    await clock.advance(90_000);
    expect(asked).toEqual([3, 1]);
  });

  it('reports the retry-after of a server', async () => {
    const one = server(4);
    poolOf([one]);
    const asked = settled(ask());
    await turn();
    one.open[0]!.fail(busy);
    await asked;
    await expect(ask()).rejects.toMatchObject({ code: 'engine_overloaded', retryAfter: 5 });
    expect(one.asked).toBe(1);
  });

  it('logs once that a server takes requests again, when its pause is over', async () => {
    const one = server(16);
    const said: string[] = [];
    const log = { ...silent, info: (_: object, text: string) => said.push(text) };
    const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0.5 };
    pool = createPool({ replicas: [replicaOf(one, 0, {})], clock, random, log });
    const asked = Array.from({ length: 8 }, () => settled(batch()));
    await turn();
    for (let n = 0; n < 3; n++) one.open.at(-1)!.fail(busy);
    await turn();
    for (let n = 0; n < 3; n++) one.open.at(-1)!.answer();
    await turn();
    expect([pool.maxInFlight, said]).toEqual([0, []]);
    await clock.advance(5_000);
    for (const each of one.open.slice()) each.answer();
    await Promise.all(asked);
    expect(said).toEqual(['the server takes requests again']);
  });

  it('notices the end of a pause that was extended', async () => {
    const one = server(16);
    poolOf([one]);
    const heard: number[] = [];
    pool.onRoom(() => heard.push(pool.maxInFlight));
    const fail = async () => {
      one.open.at(-1)!.fail(busy);
      await turn();
      await clock.advance(10);
    };
    const asked = [batch(), batch()].map(settled);
    await clock.advance(10);
    await fail();
    asked.push(...[batch(), batch()].map(settled));
    await clock.advance(10);
    await fail();
    await fail();
    expect([pool.maxInFlight, heard.at(-1)]).toEqual([0, 0]);
    await clock.advance(5_000);
    expect(heard.at(-1)).toBeGreaterThan(0);
    one.open[0]!.answer();
    await Promise.all(asked);
  });

  it('queues interactive requests before batches, one org after the other', async () => {
    const one = server(1);
    poolOf([one]);
    const running = [ask({ org: 'x' }), ask({ org: 'x' }), ask({ org: 'x' })];
    const line = batch({ org: 'z' });
    const waiting = [ask({ org: 'a' }), ask({ org: 'a' }), ask({ org: 'b' })];
    await turn();
    expect(one.asked).toBe(3);
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) {
      one.open[0]!.answer();
      await turn();
      await turn();
      order.push(one.open.at(-1)?.call.org);
    }
    expect(order.slice(0, 3)).toEqual(['a', 'b', 'a']);
    while (one.open.length > 0) {
      one.open[0]!.answer();
      await turn();
      await turn();
    }
    await Promise.all([...running, ...waiting, line]);
  });

  /** Answers the engine's requests until none is left. */
  async function drain(one: Server) {
    while (one.open.length > 0) {
      one.open[0]!.answer();
      await turn();
      await turn();
    }
  }

  it('rejects requests of the org with the most waiting when the queue is full', async () => {
    const one = server(4);
    poolOf([one]);
    const outcomes = (of: string, count: number) =>
      Array.from({ length: count }, () => settled(ask({ org: of })));
    const many = outcomes('a', 160);
    const few = outcomes('b', 12);
    await turn();
    const late = outcomes('a', 20);
    await drain(one);
    expect(await Promise.all(few)).toEqual(Array.from({ length: 12 }, () => 'answered'));
    expect(await Promise.all(late)).toEqual(Array.from({ length: 20 }, () => 'engine_overloaded'));
    const answered = (await Promise.all(many)).filter((outcome) => outcome === 'answered');
    // 6 run at once (1.5 times the slots) and 64 wait; the other org displaced 12 of those.
    expect(answered).toHaveLength(6 + 64 - 12);
  });

  it('shares the queue evenly, and always has room for an org without waiting requests', async () => {
    const one = server(1);
    poolOf([one]);
    const running = [ask(), ask(), ask()];
    const first = Array.from({ length: 100 }, (_, at) => settled(ask({ org: `org ${at}` })));
    const second = Array.from({ length: 100 }, (_, at) => settled(ask({ org: `org ${at}` })));
    expect(await Promise.all(second)).toEqual(second.map(() => 'engine_overloaded'));
    await drain(one);
    expect(await Promise.all(first)).toEqual(first.map(() => 'answered'));
    await Promise.all(running);

    const busyAgain = [ask(), ask(), ask()];
    const [a, b] = ['a', 'b'].map((org) => Array.from({ length: 64 }, () => settled(ask({ org }))));
    await drain(one);
    const count = async (all: Promise<string>[]) =>
      (await Promise.all(all)).filter((outcome) => outcome === 'answered').length;
    expect([await count(a!), await count(b!)]).toEqual([32, 32]);
    await Promise.all(busyAgain);
  });

  it('rejects a request that waited too long, and forgets one that was aborted', async () => {
    const one = server(1);
    poolOf([one]);
    const running = [ask(), ask(), ask()];
    const patient = settled(ask());
    const left = new AbortController();
    const gone = settled(ask({ signal: left.signal }));
    left.abort(new ApiError('request_timeout', 'left'));
    expect(await gone).toBe('request_timeout');
    await clock.advance(10_000);
    expect(await patient).toBe('engine_overloaded');
    while (one.open.length > 0) one.open[0]!.answer();
    await Promise.all(running);
    expect(one.asked).toBe(3);
  });

  it('sends nothing new to a draining replica', async () => {
    const one = server(4);
    poolOf([one], { isDraining: true });
    expect(pool.maxInFlight).toBe(0);
    expect(await settled(ask())).toBe('engine_overloaded');
    expect(one.asked).toBe(0);
  });

  it('starts nothing above a cap, of batches and of single requests, and uses all slots after it', async () => {
    const one = server(8);
    poolOf([one]);
    const running = Array.from({ length: 6 }, () => settled(batch()));
    await turn();
    pool.cap(() => 3);
    expect([pool.slots, pool.maxInFlight, one.open.length]).toEqual([3, 3, 6]);
    const more = [settled(batch()), settled(ask()), settled(ask())];
    for (const left of [5, 4, 3]) {
      one.open[0]!.answer();
      await turn();
      expect(one.open).toHaveLength(left);
    }
    one.open[0]!.answer();
    await turn();
    await turn();
    // One of those that wait takes the place.
    expect([one.open.length, one.asked]).toEqual([3, 7]);
    pool.cap(() => null);
    await turn();
    expect([pool.slots, pool.maxInFlight, one.asked]).toEqual([8, 9, 9]);
    await drain(one);
    expect(new Set(await Promise.all([...running, ...more]))).toEqual(new Set(['answered']));
  });

  it('admits a single request within a cap when another process has left the server', async () => {
    const one = server(8);
    poolOf([one]);
    pool.cap(() => 2);
    pool.share({ others: 2, discovered: null });
    const waits = settled(ask());
    await turn();
    expect(one.asked).toBe(0);
    pool.share({ others: 1, discovered: null });
    await turn();
    expect(one.asked).toBe(1);
    one.open[0]!.answer();
    expect(await waits).toBe('answered');
  });

  it('learns nothing about the slots of a server from a time with a cap', async () => {
    const one = server(null);
    poolOf([one]);
    const found = () => pool.discovered?.['gpu-0'];
    const before = found();
    const last = settled(batch());
    await turn();
    pool.cap(() => 2);
    for (let n = 0; n < 200; n++) {
      const both = [settled(batch()), settled(batch())];
      await turn();
      await clock.advance(1_000);
      await drain(one);
      await Promise.all(both);
    }
    await last;
    expect([pool.slots, found()]).toEqual([2, before]);
    pool.cap(() => null);
    expect(pool.maxInFlight).toBe(before);
  });

  it('keeps the state of replicas that stay when others are added and removed', async () => {
    const [gone, busyOne, left, added] = [server(99), server(null), server(20), server(4)];
    let stopped = 0;
    left.stop = async () => void stopped++;
    poolOf([gone, busyOne, left], { slotsBefore: 20 });
    const first = ask();
    await turn();
    gone.open[0]!.fail(refused);
    await turn();
    const others = [ask(), ask(), ask()];
    await turn();
    expect([busyOne.open.length, left.open.length]).toEqual([2, 2]);
    await clock.advance(500);
    const { waiting } = pool.replicas[0]!;
    await pool.replaceReplicas([
      replicaOf(busyOne, 1),
      replicaOf(gone, 0, { isDraining: true }),
      replicaOf(added, 3),
    ]);
    expect(pool.replicas).toMatchObject([
      { name: 'gpu-1', health: 'up', slots: 20, inFlight: 2 },
      { name: 'gpu-0', health: 'draining', waiting },
      { name: 'gpu-3', health: 'up', slots: 4, inFlight: 0 },
    ]);
    await pool.replaceReplicas([replicaOf(busyOne, 1), replicaOf(gone, 0), replicaOf(added, 3)]);
    expect(pool.replicas[1]).toMatchObject({ health: 'open', waiting });
    expect(stopped).toBe(0);
    while (left.open.length > 0) left.open[0]!.answer();
    await turn();
    await turn();
    expect(stopped).toBe(1);
    while (busyOne.open.length > 0) busyOne.open[0]!.answer();
    await Promise.all([first, ...others]);
  });

  it('sends nothing to replicas that an operator drains, also to those added later, and states since when', async () => {
    const [one, two, added] = [server(4), server(4), server(4)];
    poolOf([one, two]);
    const running = ask();
    await turn();
    expect(one.open).toHaveLength(1);
    await clock.advance(1000);
    pool.drain((name) => name !== 'gpu-1');
    const others = [ask(), ask()];
    await turn();
    expect([one.open.length, two.open.length]).toEqual([1, 2]);
    expect(pool.replicas.map(({ health }) => health)).toEqual(['draining', 'up']);
    await clock.advance(1000);
    await pool.replaceReplicas([replicaOf(one, 0), replicaOf(added, 2)]);
    expect(pool.waiting).toMatchObject({ since: clock.now() });
    await expect(ask()).rejects.toMatchObject({ code: 'engine_overloaded' });
    // The configuration drains it as well.
    await pool.replaceReplicas([replicaOf(one, 0, { isDraining: true }), replicaOf(added, 2)]);
    pool.drain(() => false);
    expect(pool.replicas.map(({ health }) => health)).toEqual(['draining', 'up']);
    const last = ask();
    await turn();
    expect(added.open).toHaveLength(1);
    for (const each of [...one.open, ...two.open, ...added.open]) each.answer();
    await Promise.all([running, last, ...others]);
  });

  it('stops a removed replica only after its answers were read', async () => {
    const [left, added] = [server(1), server(1)];
    let isStopped = false;
    left.stop = async () => void (isStopped = true);
    const { usage } = chatResponse('fine');
    const last = { choices: [], usage } as unknown as ChatChunk;
    left.stream = async function* () {
      yield [last];
      yield [];
    };
    poolOf([left]);
    const stream = pool.stream(chatRequest(), forever)[Symbol.asyncIterator]();
    expect((await stream.next()).value).toEqual([last]);
    expect(pool.replicas[0]).toMatchObject({ inFlight: 0 });
    await pool.replaceReplicas([replicaOf(added, 1)]);
    await turn();
    expect(isStopped).toBe(false);
    expect((await stream.next()).value).toEqual([]);
    expect((await stream.next()).done).toBe(true);
    await turn();
    expect(isStopped).toBe(true);
  });

  it('admits waiting requests to added replicas', async () => {
    const [one, added] = [server(1), server(4)];
    poolOf([one]);
    const running = Array.from({ length: 6 }, () => ask());
    await turn();
    expect(one.open).toHaveLength(3);
    await pool.replaceReplicas([replicaOf(one, 0), replicaOf(added, 1)]);
    await turn();
    expect(added.open).toHaveLength(3);
    for (const each of [...one.open, ...added.open]) each.answer();
    await Promise.all(running);
  });
});
