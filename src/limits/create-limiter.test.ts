import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { ApiError } from '../core/errors.ts';
import type { CallerLimits, RequestLimits } from '../core/limits.ts';
import type { RateState } from '../core/rates.ts';
import { createRequestLimiter } from './create-limiter.ts';
import { createLocalSubjects } from './subjects.ts';
import type { Admission, TokenAmounts } from './limiter.ts';

const none = { inputTokens: 0, outputTokens: 0 };

function setUp(defaults: Partial<CallerLimits> = {}) {
  const clock = createManualClock();
  const limiter = createRequestLimiter({
    clock,
    defaults: { org: {}, key: {}, ...defaults },
    subjects: createLocalSubjects(clock),
  });
  let rates: readonly RateState[] = [];
  const admit = (own: Partial<CallerLimits> = {}, tokens: TokenAmounts = none, ids = ['org_a', 'key_a']) =>
    limiter.admit(
      {
        orgId: ids[0]!,
        keyId: ids[1]!,
        scopes: [],
        models: null,
        limits: { org: {}, key: {}, ...own },
      },
      () => tokens,
      (seen) => (rates = seen),
    ) as Admission;
  const attempt = (...args: Parameters<typeof admit>): Admission | ApiError => {
    try {
      return admit(...args);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  };
  const admitted = (count: number, ...args: Parameters<typeof admit>) =>
    Array.from({ length: count }, () => attempt(...args)).filter((each) => !(each instanceof ApiError));
  return { clock, limiter, admit, attempt, admitted, rates: () => rates };
}

describe('requests per minute', () => {
  it('admit exactly the limit at once, then one per 60 s / limit', () => {
    const { admitted, clock } = setUp();
    const org = { requestsPerMinute: 100 };
    expect(admitted(200, { org })).toHaveLength(100);
    clock.stall(599);
    expect(admitted(5, { org })).toHaveLength(0);
    clock.stall(1);
    expect(admitted(5, { org })).toHaveLength(1);
    clock.stall(3_600_000);
    expect(admitted(200, { org })).toHaveLength(100);
  });

  it('never exceed the bucket and its refill, nor fall below, for any limit and times', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 1, max: 30 })));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), steps, (limit, moves) => {
        const { admitted, clock } = setUp();
        // Exact: tokens in units of 1/60000 request.
        let room = limit * 60_000;
        for (const [ms, tries] of moves) {
          clock.stall(ms);
          room = Math.min(limit * 60_000, room + limit * ms);
          const expected = Math.min(tries, Math.floor(room / 60_000));
          expect(admitted(tries, { org: { requestsPerMinute: limit } })).toHaveLength(expected);
          room -= expected * 60_000;
        }
      }),
    );
  });

  it('refuse with the time until one fits, and admit then', () => {
    const { attempt, admitted, clock } = setUp();
    const org = { requestsPerMinute: 7 };
    admitted(7, { org });
    const error = attempt({ org }) as ApiError;
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
    expect(error.message).toBe(
      'The limit of this organization, 7 requests per minute (requests_per_minute), is used up: 7 used, 1 needed. Try again in 8.6 s.',
    );
    const ms = Math.ceil(error.retryAfter! * 1000);
    clock.stall(ms - 1);
    expect(admitted(1, { org })).toHaveLength(0);
    clock.stall(1);
    expect(admitted(1, { org })).toHaveLength(1);
  });

  it('count per org and per key, and a refused request counts for neither', () => {
    const { admitted } = setUp();
    const limits = { org: { requestsPerMinute: 10 }, key: { requestsPerMinute: 4 } };
    expect(admitted(20, limits, none, ['org_a', 'key_a'])).toHaveLength(4);
    expect(admitted(20, limits, none, ['org_a', 'key_b'])).toHaveLength(4);
    expect(admitted(20, limits, none, ['org_a', 'key_c'])).toHaveLength(2);
    expect(admitted(20, limits, none, ['org_b', 'key_d'])).toHaveLength(4);
  });

  it('follow a changed limit, and fall back to the defaults', () => {
    const { admitted } = setUp({ org: { requestsPerMinute: 3 } });
    expect(admitted(9)).toHaveLength(3);
    expect(admitted(9, { org: { requestsPerMinute: 5 } })).toHaveLength(2);
    expect(admitted(9, { org: { requestsPerMinute: 2 } })).toHaveLength(0);
  });

  it('of 0 refuse everything', () => {
    const { attempt } = setUp();
    const error = attempt({ key: { requestsPerMinute: 0 } }) as ApiError;
    expect(error.message).toContain('allows no requests');
    expect(error).toMatchObject({ shouldRetry: false, retryAfter: undefined });
  });

  it('are not drained by a clock that goes back', () => {
    const { admitted, clock } = setUp();
    admitted(5, { org: { requestsPerMinute: 5 } });
    clock.jump(-3_600_000);
    expect(admitted(5, { org: { requestsPerMinute: 5 } })).toHaveLength(0);
  });
});

describe('tokens per minute', () => {
  const org = { inputTokensPerMinute: 1_000, outputTokensPerMinute: 600 };

  it('are reserved by the estimate, and corrected by the use', () => {
    const { admit, attempt, rates } = setUp();
    const first = admit({ org }, { inputTokens: 600, outputTokens: 500 });
    expect(rates()).toEqual([
      { rate: 'inputTokens', limit: 1_000, remaining: 400, resetMs: 36_000 },
      { rate: 'outputTokens', limit: 600, remaining: 100, resetMs: 50_000 },
    ]);
    expect((attempt({ org }, { inputTokens: 10, outputTokens: 200 }) as ApiError).message).toContain(
      '600 output tokens per minute (output_tokens_per_minute), is used up: 500 used, 200 needed. Try again in 10 s.',
    );
    first.end({ inputTokens: 300, outputTokens: 20 });
    first.end({ inputTokens: 0, outputTokens: 0 });
    admit({ org });
    expect(rates().map(({ remaining }) => remaining)).toEqual([700, 580]);
  });

  it('used beyond the estimate delay later requests', () => {
    const { admit, attempt, clock } = setUp();
    admit({ org }, { inputTokens: 1, outputTokens: 1 }).end({ inputTokens: 2_000, outputTokens: 1 });
    const error = attempt({ org }, { inputTokens: 1, outputTokens: 1 }) as ApiError;
    expect(error.retryAfter).toBeCloseTo(60.06, 5);
    clock.stall(60_060);
    expect(attempt({ org }, { inputTokens: 1, outputTokens: 1 })).not.toBeInstanceOf(ApiError);
  });

  it('of one request above the limit are admitted when nothing else is used', () => {
    const { admit, attempt, clock } = setUp();
    const large = { inputTokens: 5_000, outputTokens: 0 };
    admit({ org }, large);
    expect(attempt({ org }, large)).toMatchObject({ retryAfter: 60 });
    clock.stall(60_000);
    admit({ org }, large);
  });

  it('without a limit are not estimated', () => {
    const { limiter } = setUp();
    const caller = { orgId: 'o', keyId: 'k', scopes: [], models: null };
    const limits = { org: { requestsPerMinute: 1 }, key: {} };
    void limiter.admit({ ...caller, limits }, () => expect.fail('estimated'));
  });
});

describe('concurrent requests', () => {
  it('are limited until some end', () => {
    const { admitted, attempt } = setUp();
    const [first] = admitted(9, { key: { concurrentRequests: 4 } });
    const refused = attempt({ key: { concurrentRequests: 4 } }) as ApiError;
    expect(refused).toMatchObject({ retryAfter: 1 });
    expect(refused.message).toBe(
      'The limit of this API key, 4 concurrent requests (concurrent_requests), is reached: 4 are in flight. Try again when one has ended.',
    );
    (first as Admission).end(none);
    (first as Admission).end(none);
    expect(admitted(9, { key: { concurrentRequests: 4 } })).toHaveLength(1);
  });
});

describe('the memory of limits', () => {
  it('is freed for thousands of keys that are not used any more', () => {
    const { admit, clock, limiter } = setUp();
    const key = { requestsPerMinute: 5, concurrentRequests: 5 };
    for (let at = 0; at < 5_000; at++) {
      admit({ key }, none, ['org_a', `key_${at}`]).end(none);
      clock.stall(10_000);
    }
    expect(limiter.size).toBeLessThan(1_100);
  });

  it('keeps a request in flight, however long', () => {
    const { admit, admitted, clock } = setUp();
    const key = { concurrentRequests: 1 };
    admit({ key });
    for (let at = 0; at < 3_000; at++) {
      admit({ key }, none, ['org_b', `key_${at}`]).end(none);
      clock.stall(10_000);
    }
    expect(admitted(1, { key } satisfies { key: RequestLimits })).toHaveLength(0);
  });
});
