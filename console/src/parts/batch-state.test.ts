import { expect, it } from 'vitest';
import { batchState } from './batch-state.ts';

it.each([
  [{ status: 'completed' }, 'done', 'Completed'],
  [{ status: 'in_progress', waiting: null }, 'running', 'In progress'],
  [{ status: 'in_progress', at_risk: true }, 'warning', 'At risk'],
  [{ status: 'in_progress', waiting: { reason: 'rate_limited' } }, 'waiting', 'Waiting: rate limited'],
  [{ status: 'in_progress', waiting: { reason: 'budget' }, at_risk: true }, 'warning', 'Waiting: budget'],
  [{ status: 'in_progress', waiting: { reason: 'paused' } }, 'stopped', 'Paused'],
  [{ status: 'a_newer_state' }, 'waiting', 'A newer state'],
] as const)('shows %j', (batch, kind, word) => {
  expect(batchState(batch)).toEqual({ kind, word });
});
