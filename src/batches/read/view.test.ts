import { describe, expect, it } from 'vitest';
import { type Hours, parseHours } from '../../core/hours.ts';
import { makeBatch as storedBatch } from '../../../test/store/fixtures.ts';
import type { LedgerRow } from '../../store/contract/accounts.ts';
import { totalAmount, usageByModel, toBatchView } from './view.ts';

const row = (model: string, day: string, input: number, cached: number, output: number): LedgerRow => ({
  sourceId: 'batch_1',
  orgId: 'org_1',
  keyId: 'key_1',
  model,
  day,
  endpoint: '/v1/chat/completions',
  tag: '',
  requests: 1,
  usage: {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: 0,
    outputTokens: output,
    reasoningTokens: 0,
  },
  amount: null,
});
const at = (now: number, hours?: Hours) => ({ times: { now, from: now, hours } });
const extra = { running: 0, errorSummary: [], waiting: null, place: null, ...at(0) };

describe('money', () => {
  const prices = { m: { input: 150_000_000, cachedInput: 75_000_000, output: 600_000_000 } };

  it('is tokens times price, half of it for a batch', () => {
    const usage = new Map([
      [
        'm',
        {
          inputTokens: 1_000_000,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 1_000_000,
          reasoningTokens: 0,
        },
      ],
    ]);
    expect(totalAmount(usage, prices, 1)).toBe(750_000_000n);
    expect(totalAmount(usage, prices, 0.5)).toBe(375_000_000n);
  });

  it('takes cached tokens for their own price', () => {
    const usage = new Map([
      [
        'm',
        {
          inputTokens: 1_000_000,
          cachedTokens: 400_000,
          cacheWriteTokens: 0,
          outputTokens: 0,
          reasoningTokens: 0,
        },
      ],
    ]);
    expect(totalAmount(usage, prices, 1)).toBe(90_000_000n + 30_000_000n);
  });

  it('is rounded half up once for each model, not for each day', () => {
    // A third of a nano-dollar a token: five days of one token each are 1.67, not five times nothing.
    const cheap = { m: { input: 333_333, cachedInput: 0, output: 0 } };
    const days = ['01', '02', '03', '04', '05'].map((day) => row('m', `2026-01-${day}`, 1, 0, 0));
    expect(totalAmount(usageByModel(days), cheap, 1)).toBe(2n);
    const half = { m: { input: 500_000, cachedInput: 0, output: 0 } };
    expect(totalAmount(usageByModel(days.slice(0, 1)), half, 1)).toBe(1n);
    expect(totalAmount(usageByModel(days.slice(0, 1)), { m: { ...half.m, input: 499_999 } }, 1)).toBe(0n);
  });

  it('loses no digit of an amount no number could hold', () => {
    const usage = new Map([
      [
        'm',
        {
          inputTokens: 9_007_199_254_740_991,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 0,
          reasoningTokens: 0,
        },
      ],
    ]);
    expect(totalAmount(usage, { m: { input: 1_000_000_001, cachedInput: 0, output: 0 } }, 1)).toBe(
      (9_007_199_254_740_991n * 1_000_000_001n * 2n + 1_000_000n) / 2_000_000n,
    );
  });

  it('is nothing for a model that had no price', () => {
    const usage = new Map([
      ['gone', { inputTokens: 5, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 }],
    ]);
    expect(totalAmount(usage, prices, 1)).toBe(0n);
  });
});

describe('viewOf', () => {
  it('adds up the ledger at the prices frozen on the batch', () => {
    const batch = storedBatch({
      prices: { m: { input: 2_000_000, cachedInput: 1_000_000, output: 4_000_000 } },
      priceFactor: 0.5,
    });
    const view = toBatchView(
      batch,
      [row('m', '2026-01-01', 10, 4, 3), row('m', '2026-01-02', 10, 0, 3)],
      extra,
    );
    expect(view.usage).toEqual({
      inputTokens: 20,
      cachedTokens: 4,
      cacheWriteTokens: 0,
      outputTokens: 6,
      reasoningTokens: 0,
    });
    // 4 of 20 input tokens came from a cache, at half of the price.
    expect([view.uncachedAmount, view.listAmount, view.amount]).toEqual([64n, 60n, 30n]);
  });

  it('knows no pace before the batch began', () => {
    expect(toBatchView(storedBatch({}), [], extra)).toMatchObject({ ratePerMinute: null, eta: null });
  });

  it('shows the rate, and the ETA at that rate', () => {
    const batch = storedBatch({ inProgressAt: 60_000, total: 100, ok: 40, err: 10 });
    const view = toBatchView(batch, [], { ...extra, ...at(180_000) });
    expect(view).toMatchObject({ ratePerMinute: 25, eta: 300_000 });
  });

  it('shows the rate of a finished batch, without an ETA', () => {
    const batch = storedBatch({
      status: 'completed',
      inProgressAt: 0,
      completedAt: 30_000,
      total: 50,
      ok: 50,
    });
    expect(toBatchView(batch, [], { ...extra, ...at(999_999) })).toMatchObject({
      ratePerMinute: 100,
      eta: null,
    });
  });

  it('does not count lines that never ran', () => {
    const batch = storedBatch({
      status: 'expired',
      total: 100,
      ok: 40,
      err: 60,
      inProgressAt: 0,
      expiredAt: 120_000,
    });
    const errorSummary = [
      { code: 'batch_expired', count: 50, example: '' },
      { code: 'request_refused', count: 10, example: '' },
    ];
    expect(toBatchView(batch, [], { ...extra, errorSummary })).toMatchObject({ ratePerMinute: 25 });
  });

  it('shows the rate of a batch that ran before its model had hours', () => {
    const hours = { ...parseHours('22:00-06:00')!, share: 0 };
    const ran = { inProgressAt: Date.parse('2026-01-10T12:00:00Z'), total: 100, ok: 50 };
    const now = ran.inProgressAt + 120_000;
    expect(toBatchView(storedBatch(ran), [], { ...extra, ...at(now, hours) })).toMatchObject({
      ratePerMinute: 25,
    });
    const completedAt = now;
    const done = storedBatch({ ...ran, status: 'completed', completedAt });
    expect(toBatchView(done, [], { ...extra, ...at(now + 1e9, hours) })).toMatchObject({ ratePerMinute: 25 });
  });

  it('has no ETA before the first result', () => {
    const batch = storedBatch({ inProgressAt: 0, total: 10 });
    expect(toBatchView(batch, [], { ...extra, ...at(0) })).toMatchObject({ ratePerMinute: 0, eta: null });
  });

  it('is at risk by its own pace, else as it was seen to be, and not once its end is decided', () => {
    const going = {
      status: 'in_progress',
      createdAt: 0,
      inProgressAt: 0,
      expiresAt: 100,
      total: 10,
    } as const;
    const seen = (changes: Parameters<typeof storedBatch>[0]) =>
      toBatchView(storedBatch({ ...going, ...changes }), [], { ...extra, ...at(50) }).atRisk;
    expect([seen({ ok: 4 }), seen({ ok: 5 }), seen({ ok: 5, atRiskAt: 9 })]).toEqual([true, false, false]);
    expect([seen({}), seen({ atRiskAt: 9 }), seen({ atRiskAt: 9, closing: 'expired' })]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('knows no end while it waits', () => {
    const waiting = { reason: 'queued', message: 'Wait.', since: 5 } as const;
    const batch = storedBatch({ status: 'in_progress', inProgressAt: 0, total: 10, ok: 5 });
    expect(toBatchView(batch, [], { ...extra, ...at(9) })).toMatchObject({ waiting: null, eta: 18 });
    expect(
      toBatchView(batch, [], { ...extra, ...at(9), waiting, place: { ahead: 3, weight: 1 } }),
    ).toMatchObject({
      waiting,
      place: { ahead: 3, weight: 1 },
      eta: null,
    });
  });

  it('counts the hours of its model alone: in its pace, its end and its risk, also while it waits for them', () => {
    const hour = 3_600_000;
    const hours = { ...parseHours('00:00-02:00')!, share: 0 };
    const waiting = { reason: 'hours', message: 'Later.', since: 2 * hour, until: 24 * hour } as const;
    const begun = { status: 'in_progress', createdAt: 0, inProgressAt: hour, ok: 60 } as const;
    const seen = (total: number) =>
      toBatchView(storedBatch({ ...begun, total, expiresAt: 26 * hour }), [], {
        ...extra,
        ...at(5 * hour, hours),
        waiting,
      });
    expect(seen(90)).toMatchObject({ ratePerMinute: 1, eta: 24.5 * hour, atRisk: false });
    expect([seen(180).atRisk, seen(181).atRisk]).toEqual([false, true]);
    // Its window will be over before they begin: that is known at once.
    const none = storedBatch({ createdAt: 3 * hour, expiresAt: 23 * hour });
    expect(toBatchView(none, [], { ...extra, ...at(3 * hour, hours) }).atRisk).toBe(true);
    expect(toBatchView(none, [], { ...extra, ...at(3 * hour) }).atRisk).toBe(false);
  });
});
