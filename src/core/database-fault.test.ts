import { describe, expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { StoreError } from './store-error.ts';
import { isDatabaseUnavailable } from './database-fault.ts';

const works = () => Promise.resolve();
const fails = () => Promise.reject(new Error('no'));

describe('isDatabaseAway', () => {
  it('believes an error that says so', async () => {
    expect(await isDatabaseUnavailable(new StoreError('unreachable', 'Gone.', 'Look.'), works)).toBe(true);
    expect(await isDatabaseUnavailable(new ApiError('insufficient_storage', 'Full.'), works)).toBe(true);
  });

  it('asks something else where the error may be about what was asked', async () => {
    for (const error of [
      new Error('CHECK constraint failed'),
      new StoreError('corrupt', 'Damaged.', 'Restore.'),
    ]) {
      expect(await isDatabaseUnavailable(error, works)).toBe(false);
      expect(await isDatabaseUnavailable(error, fails)).toBe(true);
    }
  });
});
