import { describe, expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { StoreError } from './store-error.ts';
import { isDatabaseUnavailable } from './database-fault.ts';

const works = () => Promise.resolve();
const fails = () => Promise.reject(new Error('no'));

describe('isDatabaseUnavailable', () => {
  it('is true for an outage, without a probe', async () => {
    expect(await isDatabaseUnavailable(new StoreError('unreachable', 'Gone.', 'Look.'), works)).toBe(true);
    expect(await isDatabaseUnavailable(new ApiError('insufficient_storage', 'Full.'), works)).toBe(true);
  });

  it('probes the database where the error may concern only one operation', async () => {
    for (const error of [
      new Error('CHECK constraint failed'),
      new StoreError('corrupt', 'Damaged.', 'Restore.'),
    ]) {
      expect(await isDatabaseUnavailable(error, works)).toBe(false);
      expect(await isDatabaseUnavailable(error, fails)).toBe(true);
    }
  });
});
