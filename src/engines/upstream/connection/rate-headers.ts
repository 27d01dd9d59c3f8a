import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimitStatus } from '../../engines.ts';

/** Where the limits of requests and of tokens stand. */
const names = ['requests', 'tokens'].flatMap((of) => [
  { of, remaining: `x-ratelimit-remaining-${of}`, reset: `x-ratelimit-reset-${of}` },
  { of, remaining: `anthropic-ratelimit-${of}-remaining`, reset: `anthropic-ratelimit-${of}-reset` },
]);

/**
 * What is left of the limits that bear upon requests. Tokens count once none are left: nobody knows how many a request
 * takes.
 * @param now epoch milliseconds
 */
export function readRateLimit(headers: IncomingHttpHeaders, now: number): RateLimitStatus | null {
  let found: RateLimitStatus | null = null;
  for (const { of, remaining: at, reset } of names) {
    if (headers[at] === undefined) continue;
    const remaining = Number(headers[at]);
    const resetMs = untilReset(String(headers[reset] ?? ''), now);
    if (!(remaining >= 0) || resetMs === null || (of === 'tokens' && remaining > 0)) continue;
    if (!found || resetMs / Math.max(1, remaining) > found.resetMs / Math.max(1, found.remaining))
      found = { remaining, resetMs };
  }
  return found;
}

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longer ones are a mistake, or a limit of a day that nobody can wait for. */
const longestMs = 15 * 60_000;

/** `1s`, `6m0s`, `12ms`, a number of seconds, or an instant. */
function untilReset(text: string, now: number): number | null {
  let ms: number;
  if (/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text))
    ms = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * units[unit!]!,
      0,
    );
  else if (/^\d+(?:\.\d+)?$/.test(text)) ms = Number(text) * 1_000;
  else if (/^\d{4}-\d\d-\d\dT/.test(text)) ms = Date.parse(text) - now;
  else return null;
  return ms >= 0 && ms <= longestMs ? ms : null;
}
