import { beforeEach, describe, expect, it } from 'vitest';
import { makeBatch } from '../../../test/store/fixtures.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { noBudgets } from '../../../test/support/no-budgets.ts';
import type { Batch } from '../../core/batch.ts';
import { type BatchPause, findPause } from '../../core/controls.ts';
import { createCatalog } from '../../core/model.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import { Peers } from '../../inference/peers.ts';
import { createWaitSources, findWaiting, type WaitSources } from './waiting.ts';

const price = { input: 0, cachedInput: 0, output: 0 };
const cause = { reason: 'engine_unavailable', message: 'Away.', since: 5 } as const;
const noStorage = { reason: 'storage_unavailable', message: 'Silent.', since: 3 } as const;
const noMoney = { reason: 'budget', message: 'Used up.', since: 4, until: 9 } as const;
const pause = { reason: 'paused', message: 'By the operator.', since: 8 } as const;
const poor = 'org_poor';
const running: Partial<Batch> = {
  status: 'in_progress',
  createdAt: 1,
  inProgressAt: 2,
  ok: 5,
  model: null,
  prices: { a: price, b: price },
};

const seen = (
  changes: Partial<Batch>,
  {
    inFlight = 0,
    away = [''],
    full = [''],
    paused = [''],
    stored = true,
    justRan = false,
  }: {
    inFlight?: number;
    away?: string[];
    full?: string[];
    paused?: string[];
    stored?: boolean;
    justRan?: boolean;
  },
) =>
  findWaiting(makeBatch({ ...running, ...changes }), inFlight, {
    storage: () => (stored ? null : noStorage),
    budget: (orgId) => (orgId === poor ? noMoney : null),
    pausing: (_orgId, model) => (paused.includes(model) ? pause : null),
    waiting: (model) => (away.includes(model) ? cause : null),
    room: (model) => (full.includes(model) ? 0 : 1),
    hasJustRun: () => justRan,
  });

describe('a batch waits', () => {
  it('for its first unavailable model', () => {
    expect(seen({}, { away: ['b'] })).toEqual(cause);
    expect(seen({ createdAt: 6 }, { away: ['b'] })?.since).toBe(6);
    expect(seen({ prices: { a: price } }, { away: ['b'] })).toBeNull();
  });

  it('not while something is under way to another of its models', () => {
    expect(seen({}, { away: ['b'], inFlight: 3 })).toBeNull();
    expect(seen({}, { away: ['a', 'b'], inFlight: 3 })?.reason).toBe('engine_unavailable');
  });

  it('while an operator pauses one of its models, but not while something is under way to another', () => {
    expect(seen({}, { paused: ['b'] })).toEqual(pause);
    expect(seen({}, { paused: ['b'], away: ['b'] })).toEqual(pause);
    expect(seen({}, { paused: ['b'], inFlight: 3 })).toBeNull();
    expect(seen({}, { paused: ['a', 'b'], inFlight: 3 })).toEqual(pause);
    expect(seen({ createdAt: 9 }, { paused: ['a', 'b'] })?.since).toBe(9);
    expect(seen({ pausedAt: 1 }, { paused: ['a', 'b'] })?.since).toBe(1);
  });

  it('for money first of all, but not when it is paused', () => {
    expect(seen({ orgId: poor }, { away: ['a', 'b'], inFlight: 3 })).toEqual({
      ...noMoney,
      message: expect.stringMatching(/^.* The batch expires at \d{4}-.*Z\.$/),
    });
    expect(seen({ orgId: poor, createdAt: 6 }, {})?.since).toBe(6);
    expect(seen({ orgId: poor, pausedAt: 7 }, {})?.reason).toBe('paused');
    expect(seen({ orgId: poor, closing: 'expired' }, {})).toBeNull();
  });

  it('in the queue while others have all places of all its models, and nothing of it is under way', () => {
    expect(seen({}, { full: ['a', 'b'] })).toMatchObject({ reason: 'queued', since: 2 });
    expect(seen({ status: 'validating', inProgressAt: null }, { full: ['a', 'b'] })?.since).toBe(1);
    expect(seen({}, { full: ['a'] })).toBeNull();
    expect(seen({}, { full: ['a', 'b'], inFlight: 1 })).toBeNull();
    expect(seen({ prices: {} }, {})).toBeNull();
    expect(seen({ ok: 8 }, { full: ['a', 'b'] })).toBeNull();
  });

  it('not in the queue between two turns, but for what keeps it from its next one', () => {
    expect(seen({}, { full: ['a', 'b'], justRan: true })).toBeNull();
    expect(seen({}, { away: ['a', 'b'], justRan: true })).toEqual(cause);
  });

  it('for being resumed, whatever else there is', () => {
    expect(seen({ pausedAt: 7 }, { away: ['a'], inFlight: 3 })).toMatchObject({ reason: 'paused', since: 7 });
  });

  it('for its files, also while it is closed', () => {
    const stored = false;
    expect(seen({ orgId: poor }, { stored, away: ['a'], inFlight: 3 })).toEqual(noStorage);
    expect(seen({ closing: 'completed' }, { stored })).toEqual(noStorage);
    expect(seen({ pausedAt: 7 }, { stored })?.reason).toBe('paused');
    expect(seen({ status: 'completed' }, { stored })).toBeNull();
  });

  it('for nothing once its end is decided', () => {
    for (const changes of [{ closing: 'completed' }, { status: 'cancelled' }] as const)
      expect(seen(changes, { away: ['a'], full: ['a', 'b'] })).toBeNull();
  });
});

const model = { id: 'mine', aliases: ['my-alias'], serves: ['chat' as const], prices: price, createdAt: 0 };
const causeOf = (message: string): WaitingCause => ({
  scope: 'account',
  code: 'upstream_error',
  message,
  since: 5,
});
const everywhere = Number.POSITIVE_INFINITY;

describe('wait reasons', () => {
  let waiting: WaitingCause | null;
  let peers: Peers;
  let pauses: BatchPause[];
  let surroundings: WaitSources;
  let told: (name: string) => [why: string | undefined, room: number];

  beforeEach(() => {
    waiting = null;
    pauses = [];
    const catalog = createCatalog([model]);
    peers = new Peers(catalog, createManualClock());
    surroundings = createWaitSources({
      storage: () => null,
      hasJustRun: () => false,
      budgets: noBudgets,
      controls: { pausing: (orgId, id) => findPause(pauses, { orgId, model: id }) },
      catalog,
      peers,
      capacity: {
        room: (id) => (id === 'mine' ? 3 : 0),
        waiting: (id) => (id === 'mine' ? waiting : null),
      },
      missing: { waiting: () => null },
      hours: { waiting: () => null },
    });
    told = (name) => [surroundings.waiting(name, [])?.message, surroundings.room(name)];
  });

  it('are given only if no process sends the requests of a model', () => {
    expect(told('my-alias')).toEqual([undefined, 3]);
    waiting = causeOf('here');
    expect(told('my-alias')).toEqual(['here', 3]);
    const others = { interactive: {}, serves: ['my-alias'] };
    const waits = { 'my-alias': causeOf('there') };
    peers.update([{ ...others, waits }]);
    expect(told('my-alias')).toEqual(['here', 3]);
    peers.update([{ ...others, waits }, others]);
    expect(told('my-alias')).toEqual([undefined, everywhere]);
    waiting = null;
    expect(told('my-alias')).toEqual([undefined, 3]);
  });

  it('name the pause of an operator, also for an alias', () => {
    pauses = [{ model: 'mine', orgId: null, since: 0, keyId: 'key_1' }];
    expect(surroundings.pausing('org_a', 'my-alias')).toEqual({
      reason: 'paused',
      message:
        "The operator of the server has paused all batches of the model 'mine' since 1970-01-01T00:00:00Z.",
      since: 0,
    });
    expect(surroundings.pausing('org_a', 'theirs')).toBeNull();
    pauses = [{ model: null, orgId: 'org_a', since: 5_000, keyId: 'key_1' }];
    expect(surroundings.pausing('org_a', 'theirs')?.message).toBe(
      "The operator of the server has paused the org's batches since 1970-01-01T00:00:05Z.",
    );
    expect(surroundings.pausing('org_b', 'theirs')).toBeNull();
  });

  it('are given for the models of peers, too', () => {
    const others = { interactive: {}, serves: ['theirs'] };
    peers.update([others]);
    expect(told('theirs')).toEqual([undefined, everywhere]);
    peers.update([{ ...others, waits: { theirs: causeOf('there') } }]);
    expect(told('theirs')).toEqual(['there', 0]);
    expect(told('nobodys')).toEqual([undefined, 0]);
  });
});
