import { describe, expect, it } from 'vitest';
import { ApiError, transient } from '../../core/errors.ts';
import { asApiError } from './line-errors.ts';

describe('asApiError', () => {
  it('leaves an error of the catalog as it is', () => {
    const error = new ApiError('upstream_timeout', 'too slow');
    expect(asApiError(error)).toBe(error);
  });

  it('hides internal errors, and retries them', () => {
    const error = asApiError(new TypeError('x is undefined'));
    expect(error).toMatchObject({ code: 'internal_error', blame: transient, status: 500 });
    expect(error.message).not.toContain('undefined');
    expect((error.cause as Error).message).toBe('x is undefined');
  });
});
