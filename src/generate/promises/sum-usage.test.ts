import { expect, it } from 'vitest';
import { usage } from '../../../test/support/fake-engine.ts';
import { sumUsage } from './sum-usage.ts';

it('adds every count up, also those that only one of two has', () => {
  const first = { ...usage(7, 5, 2), completion_tokens_details: { reasoning_tokens: 3 } };
  expect(sumUsage(first, usage(9, 1))).toEqual({
    ...usage(16, 6, 2),
    completion_tokens_details: { reasoning_tokens: 3 },
  });
  expect(sumUsage(usage(9, 1), first)).toMatchObject({ completion_tokens_details: { reasoning_tokens: 3 } });
  expect(sumUsage(first, first)).toMatchObject({ completion_tokens_details: { reasoning_tokens: 6 } });
});
