import { isoSeconds, utcDay } from '../base/clock.ts';
import { ApiError } from './errors.ts';
import { formatDollars } from './price.ts';

export const budgetPeriods = ['month', 'total'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** What an org may spend: in each calendar month (UTC), or in all. */
export interface Budget {
  /** Nano-dollars. */
  amount: number;
  period: BudgetPeriod;
}

/** A budget, and how much of it is spent at present. */
export interface SpentBudget extends Budget {
  orgId: string;
  /** Nano-dollars. */
  spent: number;
  /** Since when it is used up, in epoch milliseconds, as was first seen by any process; null where nobody has seen it. */
  usedUpAt: number | null;
}

/** `2026-11`, the UTC month that an amount counts in. */
export function utcMonth(ms: number): string {
  return utcDay(ms).slice(0, 7);
}

/** When a budget begins again, in epoch milliseconds; null for one that never does. */
export function nextPeriodStart({ period }: Budget, now: number): number | null {
  const date = new Date(now);
  return period === 'total' ? null : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

export function budgetExceededText(budget: SpentBudget, now: number): string {
  const [spent, amount] = [budget.spent, budget.amount].map((nano) => formatDollars(BigInt(nano)));
  const again = nextPeriodStart(budget, now);
  const month = again === null ? '' : ` in ${utcMonth(now)}`;
  const wait = again === null ? '' : `; else it begins again at ${isoSeconds(again)}`;
  return `The budget of the org is used up: ${spent} of ${amount} USD are spent${month}. An administrator can raise it${wait}.`;
}

export function budgetExceeded(budget: SpentBudget, now: number): ApiError {
  return new ApiError('budget_exceeded', budgetExceededText(budget, now), { shouldRetry: false });
}
