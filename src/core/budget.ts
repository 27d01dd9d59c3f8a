import { isoSeconds, utcDay } from '../base/clock.ts';
import { ApiError } from './errors.ts';
import { familyOf, type OfKey } from './key-family.ts';
import { formatDollars } from './price.ts';

export const budgetPeriods = ['month', 'total'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** Spending limit of an org or a key, per calendar month (UTC) or in total. */
export interface Budget {
  /** Nano-dollars. */
  amount: number;
  period: BudgetPeriod;
  /** False for a soft budget, which is only reported when it is used up. */
  hard?: boolean;
}

/** Org and key whose budgets a request counts against. */
export interface BudgetOwner extends OfKey {
  orgId: string;
}

/** Budget with its current spending. */
export interface SpentBudget extends Budget {
  orgId: string;
  /** Newest key of the family that has the budget; null for the budget of the org. */
  keyId: string | null;
  /** First key of the family; null or absent for that key itself. */
  keyFamily?: string | null;
  /** Nano-dollars. */
  spent: number;
  /** Epoch milliseconds at which a process first saw the budget used up; null while it is not. */
  usedUpAt: number | null;
}

/** Id under which the spending of a budget counts: an org, or a family of keys. */
export function spenderOf({
  orgId,
  keyId,
  keyFamily,
}: Pick<SpentBudget, 'orgId' | 'keyId' | 'keyFamily'>): string {
  return keyId === null ? orgId : familyOf({ keyId, keyFamily });
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
  const owner = budget.keyId === null ? 'org' : 'API key';
  return `The ${owner}'s budget is used up: ${spent} of ${amount} USD spent${month}. An administrator can raise it${wait}.`;
}

export function isUsedUp({ amount, spent }: Pick<SpentBudget, 'amount' | 'spent'>): boolean {
  return spent >= amount;
}

/** Error while the rest of a budget is reserved for requests in flight. @param reserved nano-dollars */
export function budgetReserved(budget: SpentBudget, reserved: number): ApiError {
  const [spent, amount, held] = [budget.spent, budget.amount, reserved].map((nano) =>
    formatDollars(BigInt(Math.ceil(nano))),
  );
  const owner = budget.keyId === null ? 'org' : 'API key';
  return new ApiError(
    'budget_exceeded',
    `The ${owner}'s budget is in use: ${spent} of ${amount} USD spent, and ${held} reserved for requests in flight. ` +
      'Send the request again when they have ended.',
    { shouldRetry: true, retryAfter: 1 },
  );
}

export function budgetExceeded(budget: SpentBudget, now: number): ApiError {
  return new ApiError('budget_exceeded', budgetExceededText(budget, now), { shouldRetry: false });
}
