import { expect, it } from 'vitest';
import { CliError } from '../shared/exit-codes.ts';
import { budgetText, readBudget } from './budget.ts';

it('reads a budget of a month, in all, or none', () => {
  expect(readBudget('50/month')).toEqual({ amount: '50', period: 'month', hard: true });
  expect(readBudget('50/month,soft')).toEqual({ amount: '50', period: 'month', hard: false });
  expect(readBudget('12.5')).toEqual({ amount: '12.5', period: 'total', hard: true });
  expect(readBudget('0/total')).toEqual({ amount: '0', period: 'total', hard: true });
  expect(readBudget('none')).toBeNull();
  for (const wrong of ['', '50/day', '-5', '$50', '5.', '50/month '])
    expect(() => readBudget(wrong)).toThrow(CliError);
});

it('shows a budget, and what is spent of it', () => {
  const budget = { amount: '50', period: 'month' as const, hard: true };
  expect(budgetText({ ...budget, spent: '12.5' })).toBe('12.5 of 50/month');
  expect(budgetText({ ...budget, spent: '12.5', period: 'total' })).toBe('12.5 of 50');
  expect(budgetText({ ...budget, hard: false })).toBe('50/month (soft)');
  expect(budgetText(null)).toBe('');
  expect(budgetText(undefined)).toBe('');
});
