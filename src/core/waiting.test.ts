import { describe, expect, it } from 'vitest';
import type { ErrorCode, BlameScope } from './errors.ts';
import { toWaiting } from './waiting.ts';

describe('toWaiting', () => {
  it.each<[BlameScope, ErrorCode, string]>([
    ['account', 'upstream_error', 'credentials_refused'],
    ['model', 'model_not_found', 'model_missing'],
    ['model', 'engine_overloaded', 'rate_limited'],
    ['replica', 'engine_overloaded', 'rate_limited'],
    ['replica', 'upstream_error', 'engine_unavailable'],
    ['replica', 'invalid_upstream_response', 'engine_unavailable'],
    ['replica', 'upstream_unreachable', 'engine_unavailable'],
    ['replica', 'upstream_timeout', 'engine_unavailable'],
  ])('%s, %s: %s', (scope, code, reason) => {
    expect(toWaiting({ scope, code, message: 'x', since: 1 })).toEqual({ reason, message: 'x', since: 1 });
  });
});
