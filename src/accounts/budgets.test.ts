import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { type Log, silent } from '../base/log.ts';
import type { SpentBudget } from '../core/budget.ts';
import { type Budgets, createBudgets } from './budgets.ts';

const now = Date.UTC(2026, 10, 21, 12);
const dollar = 1_000_000_000;
let clock: ManualClock;
let told: SpentBudget[];
let isAway: boolean;
let isFull: boolean;
let warnings: string[];
let noted: number[];
let budgets: Budgets;

const budget = (fields: Partial<SpentBudget> = {}): SpentBudget => ({
  orgId: 'org_1',
  amount: 50 * dollar,
  period: 'month',
  spent: 50 * dollar,
  usedUpAt: null,
  ...fields,
});
const isRefused = (orgId: string) => {
  try {
    budgets.require(orgId);
    return false;
  } catch {
    return true;
  }
};

beforeEach(() => {
  clock = createManualClock(now);
  [told, isAway, isFull, warnings, noted] = [[], false, false, [], []];
  const log: Log = { ...silent, warn: (_, message) => void warnings.push(message) };
  const orgs = {
    async budgets() {
      if (isAway) throw new Error('the database is away');
      return told;
    },
    /** As the database does, for all processes. */
    async noteUsedUp(at: number) {
      if (isFull) throw new Error('the disk is full');
      told = told.map((each) => ({
        ...each,
        usedUpAt: each.spent < each.amount ? null : (each.usedUpAt ?? at),
      }));
      noted.push(at);
    },
  };
  budgets = createBudgets({ orgs, clock, log });
});

describe('a budget', () => {
  it('that is used up refuses, with what it is, what is spent and when it begins again', async () => {
    told = [budget({ spent: 50.25 * dollar }), budget({ orgId: 'org_2', spent: 49.999_999_999 * dollar })];
    await budgets.start();
    expect(() => budgets.require('org_1')).toThrow(
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

  it('in all never begins again', async () => {
    told = [budget({ period: 'total' })];
    await budgets.look();
    const message = "The org's budget is used up: 50 of 50 USD spent. An administrator can raise it.";
    expect(budgets.waiting('org_1')).toEqual({ reason: 'budget', message, since: now });
    expect(budgets.waiting('org_2')).toBeNull();
  });

  it('is looked at each second, and what waits for it has waited since it was first seen', async () => {
    await budgets.start();
    told = [budget()];
    await clock.advance(999);
    expect(isRefused('org_1')).toBe(false);
    await clock.advance(1);
    expect(isRefused('org_1')).toBe(true);
    await clock.advance(2_500);
    const until = Date.UTC(2026, 11, 1);
    expect(budgets.waiting('org_1')).toMatchObject({ since: now + 1_000, until });
    told = [budget({ amount: 60 * dollar })];
    await clock.advance(1_000);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toEqual([false, null]);
    await budgets.stop();
  });

  it('was used up when any process saw it first, which is written once', async () => {
    told = [budget({ usedUpAt: now - 5_000 }), budget({ orgId: 'org_2', spent: 0 })];
    await budgets.start();
    await clock.advance(3_000);
    expect([budgets.waiting('org_1')?.since, noted]).toEqual([now - 5_000, []]);
    told = [budget({ usedUpAt: now - 5_000, spent: 0 }), budget({ orgId: 'org_2' })];
    await clock.advance(3_000);
    expect([isRefused('org_1'), budgets.waiting('org_2')?.since, noted]).toEqual([
      false,
      now + 4_000,
      [now + 4_000],
    ]);
    expect(told[0]!.usedUpAt).toBeNull();
    await budgets.stop();
  });

  it('begins again with its month, before anybody has looked', async () => {
    told = [budget(), budget({ orgId: 'org_2', period: 'total' })];
    clock.jump(Date.UTC(2026, 10, 30, 23, 59, 59) - now);
    await budgets.start();
    isAway = true;
    const until = Date.UTC(2026, 11);
    await clock.advance(999);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toMatchObject([true, { until }]);
    await clock.advance(1);
    expect([isRefused('org_1'), budgets.waiting('org_1')]).toEqual([false, null]);
    expect([isRefused('org_2'), budgets.waiting('org_2')]).toMatchObject([true, { reason: 'budget' }]);
    await budgets.stop();
  });

  it('is obeyed and told by a database that takes no more, which is said once', async () => {
    told = [budget()];
    isFull = true;
    await budgets.start();
    await clock.advance(3_000);
    expect([isRefused('org_1'), await budgets.look(), warnings.length]).toEqual([true, told, 1]);
    isFull = false;
    await clock.advance(1_000);
    expect(budgets.waiting('org_1')?.since).toBe(now + 4_000);
    await budgets.stop();
  });

  it('stays what it was while the database is away, which is told once', async () => {
    told = [budget()];
    await budgets.start();
    [told, isAway] = [[], true];
    await clock.advance(5_000);
    expect([isRefused('org_1'), warnings.length]).toEqual([true, 1]);
    isAway = false;
    await clock.advance(1_000);
    expect(isRefused('org_1')).toBe(false);
    isAway = true;
    await clock.advance(1_000);
    expect(warnings).toHaveLength(2);
    await budgets.stop();
  });
});
