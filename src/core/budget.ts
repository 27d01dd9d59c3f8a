import { isoSeconds, utcDay } from '../base/clock.ts';
import { ApiError } from './errors.ts';
import { formatDollars } from './price.ts';

export const budgetPeriods = ['month', 'total'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** Spending limit of an org, per calendar month (UTC) or in total. */
export interface Budget {
  /** Nano-dollars. */
  amount: number;
  period: BudgetPeriod;
}

/** Budget with its current spending. */
export interface SpentBudget extends Budget {
  orgId: string;
  /** Nano-dollars. */
  spent: number;
  /** Epoch milliseconds at which a process first saw the budget used up; null while it is not. */
  usedUpAt: number | null;
}

/** `2026-11`, the UTC month of an amount. */
export function utcMonth(ms: number): string {
  return utcDay(ms).slice(0, 7);
}

/** Epoch milliseconds of the next month; null for a total budget. */
export function nextPeriodStart({ period }: Budget, now: number): number | null {
  const date = new Date(now);
  return period === 'total' ? null : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

export function budgetExceededText(budget: SpentBudget, now: number): string {
  const [spent, amount] = [budget.spent, budget.amount].map((nano) => formatDollars(BigInt(nano)));
  const again = nextPeriodStart(budget, now);
  const month = again === null ? '' : ` in ${utcMonth(now)}`;
  const wait = again === null ? '' : `; otherwise it is renewed at ${isoSeconds(again)}`;
  return `The org's budget is used up: ${spent} of ${amount} USD spent${month}. An administrator can raise it${wait}.`;
}

export function budgetExceeded(budget: SpentBudget, now: number): ApiError {
  return new ApiError('budget_exceeded', budgetExceededText(budget, now), { shouldRetry: false });
}
