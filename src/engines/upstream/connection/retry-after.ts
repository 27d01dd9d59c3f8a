/** The longest pause that is believed, in seconds. */
const longestPause = 86_400;

/**
 * Whole seconds to wait, from a `retry-after` header: a number of seconds or an HTTP date.
 * @returns 1 to 86,400; undefined when the header is absent or says nothing usable
 */
export function retryAfterSeconds(value: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (!text) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : secondsUntil(text, now);
  if (seconds === undefined || seconds < 0) return undefined;
  return Math.min(longestPause, Math.max(1, Math.ceil(seconds)));
}

function secondsUntil(date: string, now: number): number | undefined {
  // `Date.parse` takes almost anything ("-5" is a year): ask for the shape of an HTTP date first.
  if (!/^[A-Za-z]{3,9},? .*\d{2}:\d{2}:\d{2}/.test(date)) return undefined;
  const at = Date.parse(date);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
