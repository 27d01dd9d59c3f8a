import { describe, expect, it } from 'vitest';
import { parseHours } from '../../core/hours.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { BatchWork } from '../../core/work-left.ts';
import { type InputIndex, prefixLevels } from '../../files/input-index.ts';
import { forecast, type ForecastDeps } from './forecast.ts';

const now = Date.UTC(2026, 10, 28, 12);
const hour = 3_600_000;

/** Input with 60 tokens for `m` and 40 for `n`. */
const index: InputIndex = {
  count: 3,
  models: ['alias', 'n'],
  offset: new Float64Array(3),
  length: new Uint32Array(3),
  model: Uint16Array.from([0, 0, 1]),
  est: Uint32Array.from([25, 35, 40]),
  hashes: new Uint32Array(3 * prefixLevels),
};
const open = (model: string, tokens: number, orgId = 'org_a'): BatchWork => ({
  model,
  orgId,
  requests: 1,
  tokens,
  due: now - 1,
  msLeft: hour,
});

async function ask(
  more: {
    work?: BatchWork[];
    rates?: Record<string, number>;
    waiting?: (model: string) => Waiting | null;
    times?: Partial<ReturnType<ForecastDeps['timesOf']>>;
    window?: number;
  } = {},
) {
  const { work = [], rates = { m: 10, n: 10 }, waiting = () => null, times, window = hour } = more;
  const deps: ForecastDeps = {
    openWork: async () => ({ work, rateOf: (model) => rates[model] ?? null }),
    weights: async () => new Map([['org_b', 2]]),
    waiting: (_, model) => waiting(model),
    timesOf: () => ({ now, from: now, hours: undefined, ...times }),
    idOf: (name) => (name === 'alias' ? 'm' : name),
  };
  const [found] = await forecast(deps, { orgId: 'org_a' }, index, [{ due: now, expiresAt: now + window }]);
  return found!;
}

describe('the forecast of a new batch', () => {
  it('is the time of its slowest model at the measured rate', async () => {
    expect(await ask()).toEqual({
      eta: now + 6_000,
      earliest: now + 6_000,
      tokensAhead: 0,
      atRisk: false,
      waiting: null,
    });
    expect(await ask({ rates: { m: 10, n: 1 } })).toMatchObject({ eta: now + 40_000 });
  });

  it('counts the work before it, of its org and of others by weight', async () => {
    expect(await ask({ work: [open('m', 30), open('other', 9_000)] })).toMatchObject({
      eta: now + 9_000,
      tokensAhead: 30,
    });
    const work = [open('m', 30), open('m', 9_000, 'org_b')];
    expect(await ask({ work })).toMatchObject({ eta: now + 27_000, tokensAhead: 30 + 180 });
  });

  it('is made for several places at once, and reads the weights only beside other orgs', async () => {
    let read = 0;
    const deps: ForecastDeps = {
      openWork: async () => ({ work: [{ ...open('m', 40), due: now }], rateOf: () => 10 }),
      weights: async () => new Map([['org_b', ++read]]),
      waiting: () => null,
      timesOf: () => ({ now, from: now, hours: undefined }),
      idOf: (name) => name,
    };
    const places = [now - 1, now].map((due) => ({ due, expiresAt: now + hour }));
    const found = await forecast(deps, { orgId: 'org_a' }, { ...index, models: ['m', 'm'] }, places);
    expect(found.map(({ tokensAhead }) => tokensAhead)).toEqual([0, 40]);
    expect(read).toBe(0);
  });

  it('is at risk after its window', async () => {
    expect((await ask({ window: 5_999 })).atRisk).toBe(true);
    expect((await ask({ window: 6_000 })).atRisk).toBe(false);
  });

  it('is unknown without the rate of a model, and while one waits', async () => {
    expect(await ask({ rates: { m: 10 } })).toMatchObject({
      eta: null,
      earliest: now + 6_000,
      atRisk: false,
      waiting: null,
    });
    // The known part alone is late.
    expect(await ask({ rates: { m: 10 }, window: 5_999 })).toMatchObject({ eta: null, atRisk: true });
    const waiting: Waiting = { reason: 'drained', message: 'No.', since: now };
    const ofN = (model: string) => (model === 'n' ? waiting : null);
    expect(await ask({ waiting: ofN })).toMatchObject({ eta: null, waiting });
    expect(await ask({ times: { from: Number.POSITIVE_INFINITY } })).toMatchObject({ eta: null });
  });

  it('waits for the hours of the model, and for the month of the budget', async () => {
    const hours = { ...parseHours('22:00-06:00 UTC')!, share: 0 };
    const waiting: Waiting = { reason: 'hours', message: 'Later.', since: now };
    expect(await ask({ times: { hours }, waiting: () => waiting })).toMatchObject({
      eta: now + 10 * hour + 6_000,
      atRisk: true,
      waiting,
    });
    // Without a rate, it is late where no hours remain.
    const closed = { rates: {}, times: { hours }, waiting: () => waiting };
    expect(await ask({ ...closed, window: 10 * hour })).toMatchObject({
      eta: null,
      earliest: now + 10 * hour + 1,
      atRisk: true,
    });
    expect(await ask({ ...closed, window: 10 * hour + 1 })).toMatchObject({ eta: null, atRisk: false });
    expect(await ask({ times: { from: now + hour } })).toMatchObject({ eta: now + hour + 6_000 });
  });
});
