import { type Budget, budgetPeriods } from '../../core/budget.ts';
import { parseDollars } from '../../core/price.ts';
import { booleanOrNull, object, oneOf, orNull, string } from '../schema/schema.ts';

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
