import { isoSeconds } from '../../base/clock.ts';
import { type Budget, budgetPeriods, nextPeriodStart, type SpentBudget } from '../../core/budget.ts';
import { formatDollars, parseDollars } from '../../core/price.ts';
import { budgetSettings } from '../../core/settings.ts';
import { booleanOrNull, object, oneOf, orNull, string } from '../schema/schema.ts';
import { nullable } from '../shared/instant.ts';

/** Budget of an org or a key in a request. */
export const budgetSchema = orNull(
  object(
    {
      // Below 2^53 in nano-dollars.
      amount: string({
        pattern: '^[0-8]?[0-9]{1,6}(\\.[0-9]{1,9})?$',
        expected: 'USD as a decimal string below 9000000, such as "25.00"',
      }),
      period: oneOf(budgetPeriods, { description: 'Per calendar month (UTC), or in total.' }),
      'hard?': booleanOrNull({
        description: 'False to report a used-up budget without refusing requests; true by default.',
      }),
    },
    { additionalProperties: false, description: 'Spending limit; null for none.' },
  ),
);

export type BudgetBody = { amount: string; period: Budget['period']; hard?: boolean | null } | null;

export function readBudget(given: BudgetBody): Budget | null {
  if (!given) return null;
  return { amount: Number(parseDollars(given.amount)), period: given.period, hard: given.hard ?? true };
}

/** Budget with its spending, which is null where it is not counted any more. */
export function presentBudget(
  budget: Budget & Partial<Pick<SpentBudget, 'spent' | 'usedUpAt'>>,
  now: number,
) {
  const { spent, usedUpAt = null } = budget;
  return {
    ...budgetSettings(budget),
    spent: spent === undefined ? null : formatDollars(BigInt(spent)),
    reached_at: nullable(isoSeconds)(usedUpAt),
    begins_again_at: nullable(isoSeconds)(nextPeriodStart(budget, now)),
  };
}
