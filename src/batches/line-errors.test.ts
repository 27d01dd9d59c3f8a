import { describe, expect, it } from 'vitest';
import { ApiError, passing } from '../core/errors.ts';
import { asApiError, backoffMs } from './line-errors.ts';

describe('backoffMs', () => {
  it.each([
    [1, 0, 500],
    [1, 0.999, 1_000],
    [2, 0, 1_000],
    [3, 0.5, 3_000],
    [6, 0, 15_000],
    [50, 0.999, 29_985],
  ])('waits after attempt %d with %d for %d ms', (attempt, random, ms) => {
    expect(backoffMs(attempt, random)).toBe(ms);
  });
});

describe('asApiError', () => {
  it('leaves an error of the catalogue as it is', () => {
    const error = new ApiError('upstream_timeout', 'too slow');
    expect(asApiError(error)).toBe(error);
  });

  it('tells nobody what broke inside, and tries again', () => {
    const error = asApiError(new TypeError('x is undefined'));
    expect(error).toMatchObject({ code: 'internal_error', blame: passing, status: 500 });
    expect(error.message).not.toContain('undefined');
    expect((error.cause as Error).message).toBe('x is undefined');
  });
});
