import { expect, it } from 'vitest';
import type { Batch } from '../../api/batches.ts';
import { withChanges } from './live-batches.ts';

const batch = (id: string, status: Batch['status'] = 'in_progress') => ({ id, status }) as Batch;

it('changes open batches in place, adds new ones and drops those that have ended', () => {
  const open = [batch('a'), batch('b'), batch('c')];
  const after = withChanges(open, [
    batch('b', 'cancelling'),
    batch('c', 'completed'),
    batch('d', 'validating'),
    batch('e', 'failed'),
  ]);
  expect(after.map(({ id, status }) => `${id} ${status}`)).toEqual([
    'a in_progress',
    'b cancelling',
    'd validating',
  ]);
  expect(after[0]).toBe(open[0]);
});
