import { describe, expect, it } from 'vitest';
import { readRateLimit, retryAfterSeconds } from './rate-headers.ts';

const now = Date.parse('2026-11-22T10:00:00Z');

describe('readRateLimit', () => {
  it.each([
    ['1s', 1_000],
    ['6m0s', 360_000],
    ['12ms', 12],
    ['1.5s', 1_500],
    ['20', 20_000],
  ])('reads what is left of requests and when it is renewed: %s', (reset, resetMs) => {
    const headers = { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': reset };
    expect(readRateLimit(headers, now)).toEqual({ remaining: 59, resetMs });
  });

  it('reads instants', () => {
    const headers = {
      'anthropic-ratelimit-requests-remaining': '3',
      'anthropic-ratelimit-requests-reset': '2026-11-22T10:00:04Z',
    };
    expect(readRateLimit(headers, now)).toEqual({ remaining: 3, resetMs: 4_000 });
  });

  it('counts token limits only when exhausted', () => {
    const tokens = (remaining: string) => ({
      'x-ratelimit-remaining-requests': '50',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': remaining,
      'x-ratelimit-reset-tokens': '9s',
    });
    expect(readRateLimit(tokens('12'), now)).toEqual({ remaining: 50, resetMs: 1_000 });
    expect(readRateLimit(tokens('0'), now)).toEqual({ remaining: 0, resetMs: 9_000 });
  });

  it.each([
    [{}],
    [{ 'x-ratelimit-remaining-requests': 'many', 'x-ratelimit-reset-requests': '1s' }],
    [{ 'x-ratelimit-remaining-requests': '5' }],
    [{ 'x-ratelimit-remaining-requests': '5', 'x-ratelimit-reset-requests': 'soon' }],
    [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '24h' }],
  ])('makes nothing of %j', (headers) => {
    expect(readRateLimit(headers, now)).toBeNull();
  });
});

it.each([
  ['2', 2],
  ['0', 1],
  ['1.2', 2],
  ['60', 60],
  ['86400', 86_400],
  ['99999', 86_400],
  ['Sat, 21 Nov 2026 09:30:20 GMT', 20],
  ['Saturday, 21-Nov-26 09:30:20 GMT', 20],
  ['Sat, 21 Nov 2026 09:00:00 GMT', 1],
  ['Sat, 21 Nov 2030 09:00:00 GMT', 86_400],
  ['-5', undefined],
  ['soon', undefined],
  ['1e9', undefined],
  ['', undefined],
  [undefined, undefined],
])('F18: reads a retry-after of %j as %j', (value, seconds) => {
  expect(retryAfterSeconds(value, Date.UTC(2026, 10, 21, 9, 30))).toBe(seconds);
});
