import { expect, it } from 'vitest';
import { CliError } from '../shared/exit-codes.ts';
import { budgetText, readBudget } from './orgs.ts';

it('reads a budget of a month, in all, or none', () => {
  expect(readBudget('50/month')).toEqual({ amount: '50', period: 'month', hard: true });
  expect(readBudget('50/month,soft')).toEqual({ amount: '50', period: 'month', hard: false });
  expect(readBudget('12.5')).toEqual({ amount: '12.5', period: 'total', hard: true });
  expect(readBudget('0/total')).toEqual({ amount: '0', period: 'total', hard: true });
  expect(readBudget('none')).toBeNull();
  for (const wrong of ['', '50/day', '-5', '$50', '5.', '50/month '])
    expect(() => readBudget(wrong)).toThrow(CliError);
});

it('shows what is spent of it', () => {
  const settings = { disabled: false, disabled_at: null, weight: 1, limits: {} };
  const org = { id: 'org_1', object: 'org' as const, name: 'a', created_at: '', ...settings };
  const budget = { amount: '50', spent: '12.5', hard: true, reached_at: null, begins_again_at: null };
  expect(budgetText({ ...org, budget: { ...budget, period: 'month' } })).toBe('12.5 of 50/month');
  expect(budgetText({ ...org, budget: { ...budget, period: 'total' } })).toBe('12.5 of 50');
  expect(budgetText({ ...org, budget: null })).toBe('');
});
