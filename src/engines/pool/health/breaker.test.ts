import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../../test/support/manual-clock.ts';
import { ApiError, unavailable, type ErrorCode, ambiguous } from '../../../core/errors.ts';
import { type Breaker, createBreaker, type RequestFailure } from './breaker.ts';

const broken = new ApiError('upstream_error', 'The server failed.', { blame: ambiguous });
const refused = new ApiError('upstream_unreachable', 'Nobody there.', { blame: unavailable });
const busy = (retryAfter?: number) =>
  new ApiError('engine_overloaded', 'Busy.', {
    blame: unavailable,
    ...(retryAfter !== undefined && { retryAfter }),
  });

describe('createBreaker', () => {
  let clock: ManualClock;
  let breaker: Breaker;

  beforeEach(() => {
    clock = createManualClock();
    breaker = createBreaker(clock, () => 0.999_999, 86_400_000);
  });

  /** @param others requests in flight there beside it */
  const fail = (error: ApiError, others: number, more: Partial<RequestFailure> = {}) =>
    breaker.failed(error, { sentAt: clock.monotonic(), others, unverifiedShare: 0, ...more });

  it('opens at one certain failure, and tries again with doubled back-off', async () => {
    const pauses: number[] = [];
    for (let i = 0; i < 7; i++) {
      expect(fail(refused, 3)).toBe(true);
      expect(breaker.state).toBe('open');
      pauses.push(Math.round(breaker.msLeft / 1000));
      await clock.advance(breaker.msLeft);
      expect(breaker.state).toBe('half-open');
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
  });

  it('is not extended by failures of requests sent before it opened', async () => {
    fail(refused, 3);
    await clock.advance(400);
    const left = breaker.msLeft;
    expect(fail(refused, 2)).toBe(false);
    expect(breaker.msLeft).toBe(left);
  });

  it('opens at the third ambiguous failure in a row without an answer between', () => {
    fail(broken, 9);
    fail(broken, 9);
    breaker.answered();
    fail(broken, 9);
    expect([fail(broken, 9), breaker.state]).toEqual([false, 'up']);
    expect([fail(broken, 9), breaker.state, breaker.reason]).toEqual([true, 'open', 'suspected']);
    breaker.answered();
    expect([breaker.state, breaker.waiting]).toEqual(['up', null]);
  });

  it('reports the cause and its start until an answer', async () => {
    const since = clock.now();
    fail(refused, 0);
    await clock.advance(breaker.msLeft);
    fail(broken, 0);
    expect(breaker.waiting).toMatchObject({ scope: 'replica', code: 'upstream_error', since });
    breaker.answered();
    expect(breaker.waiting).toBeNull();
  });

  it('backs off from a server that reports itself healthy for at most four seconds', async () => {
    breaker.reportedHealthy(true);
    for (let i = 0; i < 3; i++) fail(broken, 0);
    const pauses: number[] = [];
    for (let i = 0; i < 4; i++) {
      pauses.push(Math.round(breaker.msLeft / 1000));
      await clock.advance(breaker.msLeft);
      fail(broken, 0);
    }
    expect(pauses).toEqual([1, 2, 4, 4]);
    await clock.advance(breaker.msLeft);
    fail(refused, 0);
    expect(breaker.msLeft).toBeGreaterThan(29_000);
  });

  it('ignores a retry-after beside requests in flight first, and keeps it when refusals go on', async () => {
    const sentAt = clock.monotonic();
    await clock.advance(10);
    for (let i = 0; i < 5; i++) fail(busy(5), 9, { sentAt });
    expect(breaker.state).toBe('up');
    await clock.advance(10);
    fail(busy(5), 9);
    expect([breaker.state, breaker.reason, breaker.msLeft]).toEqual(['open', 'retry-after', 5_000]);
  });

  it('stays up where a few later requests are refused too while the load falls', async () => {
    fail(busy(1), 45, { unverifiedShare: 0.1 });
    await clock.advance(5);
    for (let later = 0; later < 4; later++) fail(busy(1), 44);
    expect(breaker.state).toBe('up');
    fail(busy(1), 44);
    expect(breaker.reason).toBe('retry-after');
  });

  it('opens where replacements of refused requests are refused at once', () => {
    const refusals = [1, 2, 3].map(() => fail(busy(5), 2));
    expect(refusals).toEqual([false, true, false]);
  });

  it('F18: is half-open after a second retry-after without an answer between, and up after an answer', async () => {
    const afterPause = async () => {
      fail(busy(5), 0);
      expect([breaker.state, breaker.reason, breaker.msLeft]).toEqual(['open', 'retry-after', 5_000]);
      await clock.advance(5_000);
      return breaker.state;
    };
    expect([await afterPause(), await afterPause(), await afterPause()]).toEqual([
      'up',
      'half-open',
      'half-open',
    ]);
    expect(breaker.reason).toBe('suspected');
    breaker.answered();
    expect([breaker.state, await afterPause()]).toEqual(['up', 'up']);
  });

  it('keeps a retry-after to its end, whatever is answered meanwhile', async () => {
    fail(busy(5), 0);
    breaker.answered();
    expect([breaker.state, breaker.reason, breaker.msLeft]).toEqual(['open', 'retry-after', 5_000]);
    await clock.advance(4_999);
    expect(breaker.state).toBe('open');
    await clock.advance(1);
    expect(breaker.state).toBe('up');
  });

  it.each([
    ['to its end', 600, 7_200_000, 600_000, 'up'],
    ['of an hour to its end', 3_600, 86_400_000, 3_600_000, 'up'],
    ['for an hour at most where somebody waits', 86_400, undefined, 3_600_000, 'half-open'],
    ['for an hour at most, however long a batch has', 86_400, 604_800_000, 3_600_000, 'half-open'],
    ['for half of the time that a batch has left', 3_600, 600_000, 300_000, 'half-open'],
    ['for half a minute, where that is hardly any', 3_600, 10_000, 30_000, 'half-open'],
  ])('holds a pause %s', async (_, seconds, slackMs, ms, then) => {
    fail(busy(seconds), 0, { slackMs });
    expect([breaker.msLeft, breaker.openForPeers?.ms, breaker.reason]).toEqual([ms, ms, 'retry-after']);
    await clock.advance(ms);
    expect([breaker.state, breaker.openForPeers]).toEqual([then, null]);
    breaker.answered();
    expect([breaker.state, breaker.waiting]).toEqual(['up', null]);
  });

  it.each([
    ['an eighth of the time that batches have', 2 * 3_600_000, 900_000],
    ['half a minute, where that is less', 60_000, 30_000],
  ])('holds a pause for %s, since one may be made while it lasts', (_, windowMs, ms) => {
    breaker = createBreaker(clock, () => 0, windowMs);
    fail(busy(86_400), 0);
    expect(breaker.msLeft).toBe(ms);
    breaker = createBreaker(clock, () => 0, windowMs);
    breaker.applyPeerReport({
      ms: 86_400_000,
      cause: { scope: 'replica', code: 'engine_overloaded', message: '', since: 0 },
    });
    expect(breaker.msLeft).toBe(ms + 2_000);
  });

  it('backs off from an overloaded server without a retry-after', () => {
    fail(busy(0), 0);
    expect([breaker.state, breaker.msLeft > 900]).toEqual(['open', true]);
  });

  it('stays up where an overloaded server works on others', () => {
    expect([fail(busy(), 5), breaker.state]).toEqual([false, 'up']);
    expect([fail(busy(), 0), breaker.state]).toEqual([true, 'open']);
  });

  it.each<ErrorCode>(['upstream_timeout', 'invalid_upstream_response'])('suspects %s', (code) => {
    const error = new ApiError(code, 'x');
    expect([1, 2, 3].map(() => fail(error, 0))).toEqual([false, false, true]);
  });
});
