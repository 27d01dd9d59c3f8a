import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimitStatus } from '../../engines.ts';

const names = ['requests', 'tokens'].flatMap((of) => [
  { of, remaining: `x-ratelimit-remaining-${of}`, reset: `x-ratelimit-reset-${of}` },
  { of, remaining: `anthropic-ratelimit-${of}-remaining`, reset: `anthropic-ratelimit-${of}-reset` },
]);

/** Tightest limit on requests, at `now` in epoch ms. Token limits count when exhausted: a request's tokens are unknown. */
export function readRateLimit(headers: IncomingHttpHeaders, now: number): RateLimitStatus | null {
  let tightest: RateLimitStatus | null = null;
  for (const { of, remaining: name, reset } of names) {
    if (headers[name] === undefined) continue;
    const remaining = Number(headers[name]);
    const resetMs = msUntilReset(String(headers[reset] ?? ''), now);
    if (!(remaining >= 0) || resetMs === null || (of === 'tokens' && remaining > 0)) continue;
    if (!tightest || resetMs / Math.max(1, remaining) > tightest.resetMs / Math.max(1, tightest.remaining))
      tightest = { remaining, resetMs };
  }
  return tightest;
}

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longer times are mistakes or daily limits, which nothing can wait for. */
const maxResetMs = 15 * 60_000;

/** Parses `1s`, `6m0s`, `12ms`, a number of seconds, or an instant. */
function msUntilReset(text: string, now: number): number | null {
  let ms: number;
  if (/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text))
    ms = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * units[unit!]!,
      0,
    );
  else if (/^\d+(?:\.\d+)?$/.test(text)) ms = Number(text) * 1_000;
  else if (/^\d{4}-\d\d-\d\dT/.test(text)) ms = Date.parse(text) - now;
  else return null;
  return ms >= 0 && ms <= maxResetMs ? ms : null;
}

const maxRetryAfter = 86_400;

/** Whole seconds of a `retry-after` header (seconds or an HTTP date), 1 to 86,400; undefined if absent or unusable. */
export function retryAfterSeconds(value: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (!text) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : secondsUntil(text, now);
  if (seconds === undefined || seconds < 0) return undefined;
  return Math.min(maxRetryAfter, Math.max(1, Math.ceil(seconds)));
}

function secondsUntil(date: string, now: number): number | undefined {
  // `Date.parse` takes almost anything ("-5" is a year), so the shape of an HTTP date is checked first.
  if (!/^[A-Za-z]{3,9},? .*\d{2}:\d{2}:\d{2}/.test(date)) return undefined;
  const at = Date.parse(date);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
