import { describe, expect, it } from 'vitest';
import type { ErrorCode, Scope } from './errors.ts';
import { waitingReason } from './waiting.ts';

describe('waitingReason', () => {
  it.each<[Scope, ErrorCode, string]>([
    ['account', 'upstream_error', 'key_refused'],
    ['model', 'model_not_found', 'model_missing'],
    ['model', 'engine_overloaded', 'overloaded'],
    ['replica', 'engine_overloaded', 'overloaded'],
    ['replica', 'upstream_error', 'engine_failing'],
    ['replica', 'invalid_upstream_response', 'engine_failing'],
    ['replica', 'upstream_unreachable', 'engine_away'],
    ['replica', 'upstream_timeout', 'engine_away'],
  ])('%s, %s: %s', (scope, code, reason) => {
    expect(waitingReason({ scope, code })).toBe(reason);
  });
});
