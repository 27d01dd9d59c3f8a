import type { Budget, BudgetPeriod } from '../../../core/budget.ts';

/** Budget in a row of an org or a key. */
export interface BudgetColumns {
  /** Nano-dollars. */
  budget: number | null;
  budgetPeriod: BudgetPeriod | null;
  budgetHard: 0 | 1;
  usedUpAt: number | null;
}

export function columnsOf(budget: Budget | null): BudgetColumns {
  return {
    budget: budget?.amount ?? null,
    budgetPeriod: budget?.period ?? null,
    budgetHard: budget?.hard === false ? 0 : 1,
    usedUpAt: null,
  };
}

/** Columns to set for a change; a changed budget keeps the time at which it was used up until it is read again. */
export function changedBudget(budget: Budget | null | undefined): Partial<BudgetColumns> {
  if (budget === undefined) return {};
  const { usedUpAt, ...columns } = columnsOf(budget);
  return budget === null ? { ...columns, usedUpAt } : columns;
}

export function budgetOf({ budget, budgetPeriod, budgetHard }: BudgetColumns): Budget | null {
  if (budget === null || budgetPeriod === null) return null;
  return { amount: budget, period: budgetPeriod, hard: budgetHard === 1 };
}
