import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { type Log, silent } from '../base/log.ts';
import type { SpentBudget } from '../core/budget.ts';
import { type Budgets, createBudgets } from './budgets.ts';

const now = Date.UTC(2026, 10, 21, 12);
const dollar = 1_000_000_000;
let clock: ManualClock;
let stored: SpentBudget[];
let isDown: boolean;
let isFull: boolean;
let warnings: string[];
let writes: number[];
let budgets: Budgets;

const budget = (fields: Partial<SpentBudget> = {}): SpentBudget => ({
  orgId: 'org_1',
  keyId: null,
  amount: 50 * dollar,
  period: 'month',
  spent: 50 * dollar,
  usedUpAt: null,
  ...fields,
});
const isRefused = (orgId: string) => {
  try {
    budgets.require({ orgId, keyId: 'key_1' });
    return false;
  } catch {
    return true;
  }
};

beforeEach(() => {
  clock = createManualClock(now);
  [stored, isDown, isFull, warnings, writes] = [[], false, false, [], []];
  const log: Log = { ...silent, warn: (_, message) => void warnings.push(message) };
  const orgs = {
    async budgets() {
      if (isDown) throw new Error('the database is down');
      return stored;
    },
    /** Shared by all processes, as in the database. */
    async noteUsedUp(at: number) {
      if (isFull) throw new Error('the disk is full');
      stored = stored.map((each) => ({
        ...each,
        usedUpAt: each.spent < each.amount ? null : (each.usedUpAt ?? at),
      }));
      writes.push(at);
    },
  };
  budgets = createBudgets({ orgs, clock, billingClock: clock, log });
});

describe('a budget', () => {
  it('that is used up rejects requests, and states its amount, the spending and the next period', async () => {
    stored = [budget({ spent: 50.25 * dollar }), budget({ orgId: 'org_2', spent: 49.999_999_999 * dollar })];
    await budgets.start();
    expect(() => budgets.require({ orgId: 'org_1', keyId: 'key_1' })).toThrow(
      expect.objectContaining({
        code: 'budget_exceeded',
        status: 402,
        shouldRetry: false,
        message:
          "The org's budget is used up: 50.25 of 50 USD spent in 2026-11. " +
          'An administrator can raise it; otherwise it is renewed at 2026-12-01T00:00:00Z.',
      }),
    );
    expect([isRefused('org_2'), isRefused('org_3')]).toEqual([false, false]);
    await budgets.stop();
    expect(clock.pending).toBe(0);
  });

  it('of a family of keys holds for all of them', async () => {
    const [orgId, family] = ['org_1', 'key_1'];
    stored = [budget({ orgId, keyId: 'key_3', keyFamily: family, amount: dollar, spent: 0 })];
    await budgets.start();
    const keys = [
      { orgId, keyId: family },
      { orgId, keyId: 'key_2', keyFamily: family },
      { orgId, keyId: 'key_3', keyFamily: family },
    ];
    const roomy = () => keys.map((key) => budgets.hasRoom(key));
    expect(roomy()).toEqual([true, true, true]);
    const held = budgets.reserve(keys[1]!, () => dollar);
    expect([...roomy(), ...budgets.exhausted()]).toEqual([false, false, false, family]);
    expect(budgets.hasRoom({ orgId, keyId: 'key_4' })).toBe(true);
    held.charge(dollar);
    held.settle();
    stored = [{ ...stored[0]!, spent: dollar }];
    await budgets.refresh();
    expect([...roomy(), ...budgets.exhausted()]).toEqual([false, false, false, family]);
    expect(budgets.waiting(orgId, family)?.reason).toBe('budget');
    await budgets.stop();
  });

  it('without a period never renews', async () => {
    stored = [budget({ period: 'total' })];
    await budgets.refresh();
    const message = "The org's budget is used up: 50 of 50 USD spent. An administrator can raise it.";
    expect(budgets.waiting('org_1')).toEqual({ reason: 'budget', message, since: now });
    expect(budgets.waiting('org_2')).toBeNull();
  });

  it('is read every second, and its batches wait since it was first seen as used up', async () => {
    await budgets.start();
    stored = [budget()];
    await clock.advance(999);
    expect(isRefused('org_1')).toBe(false);
    await clock.advance(1);
    expect(isRefused('org_1')).toBe(true);
    await clock.advance(2_500);
    const until = Date.UTC(2026, 11, 1);
    expect(budgets.waiting('org_1')).toMatchObject({ since: now + 1_000, until });
    stored = [budget({ amount: 60 * dollar })];
    await clock.advance(1_000);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toEqual([false, null]);
    await budgets.stop();
  });

  it('was used up when the first process saw so, which is written once', async () => {
    stored = [budget({ usedUpAt: now - 5_000 }), budget({ orgId: 'org_2', spent: 0 })];
    await budgets.start();
    await clock.advance(3_000);
    expect([budgets.waiting('org_1')?.since, writes]).toEqual([now - 5_000, []]);
    stored = [budget({ usedUpAt: now - 5_000, spent: 0 }), budget({ orgId: 'org_2' })];
    await clock.advance(3_000);
    expect([isRefused('org_1'), budgets.waiting('org_2')?.since, writes]).toEqual([
      false,
      now + 4_000,
      [now + 4_000],
    ]);
    expect(stored[0]!.usedUpAt).toBeNull();
    await budgets.stop();
  });

  it('renews with its month, before the next refresh', async () => {
    stored = [budget(), budget({ orgId: 'org_2', period: 'total' })];
    clock.jump(Date.UTC(2026, 10, 30, 23, 59, 59) - now);
    await budgets.start();
    isDown = true;
    const until = Date.UTC(2026, 11);
    await clock.advance(999);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toMatchObject([true, { until }]);
    await clock.advance(1);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toEqual([false, null]);
    expect([isRefused('org_2'), budgets.waiting('org_2')]).toMatchObject([true, { reason: 'budget' }]);
    await budgets.stop();
  });

  it('that has room again wakes those who wait, once', async () => {
    let wakes = 0;
    budgets.onRoom(() => void wakes++);
    stored = [budget({ spent: 49 * dollar }), budget({ orgId: 'org_2', hard: false })];
    await budgets.start();
    stored = [budget()];
    await clock.advance(2_000);
    expect(wakes).toBe(0);
    stored = [budget({ amount: 60 * dollar })];
    await clock.advance(5_000);
    expect(wakes).toBe(1);
    stored = [budget()];
    await clock.advance(1_000);
    stored = [];
    await clock.advance(1_000);
    expect(wakes).toBe(2);
    await budgets.stop();
  });

  it('applies on a database that rejects writes, which is logged once', async () => {
    stored = [budget()];
    isFull = true;
    await budgets.start();
    await clock.advance(3_000);
    expect([isRefused('org_1'), await budgets.refresh(), warnings.length]).toEqual([true, stored, 1]);
    isFull = false;
    await clock.advance(1_000);
    expect(budgets.waiting('org_1')?.since).toBe(now + 4_000);
    await budgets.stop();
  });

  it('stays as it was while the database is unavailable, which is logged once', async () => {
    stored = [budget()];
    await budgets.start();
    [stored, isDown] = [[], true];
    await clock.advance(5_000);
    expect([isRefused('org_1'), warnings.length]).toEqual([true, 1]);
    isDown = false;
    await clock.advance(1_000);
    expect(isRefused('org_1')).toBe(false);
    isDown = true;
    await clock.advance(1_000);
    expect(warnings).toHaveLength(2);
    await budgets.stop();
  });
});
