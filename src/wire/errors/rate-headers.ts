import type { Rate, RateState } from '../../core/rates.ts';
import type { ErrorFormat } from './error-body.ts';

/** Headers about the rate limits of a request, in the form that the clients of its API read. `now` is in epoch milliseconds. */
export function rateHeaders(
  states: readonly RateState[],
  format: ErrorFormat,
  now: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const find = (rate: Rate) => states.find((state) => state.rate === rate);
  const tokens = scarcer(find('inputTokens'), find('outputTokens'));
  if (format === 'chat') {
    addOpenAi(headers, 'requests', find('requests'));
    addOpenAi(headers, 'tokens', tokens);
    return headers;
  }
  addAnthropic(headers, 'requests', find('requests'), now);
  addAnthropic(headers, 'tokens', tokens, now);
  addAnthropic(headers, 'input-tokens', find('inputTokens'), now);
  addAnthropic(headers, 'output-tokens', find('outputTokens'), now);
  return headers;
}

function scarcer(a: RateState | undefined, b: RateState | undefined): RateState | undefined {
  if (!a || !b) return a ?? b;
  return a.remaining <= b.remaining ? a : b;
}

function addOpenAi(headers: Record<string, string>, name: string, state: RateState | undefined): void {
  if (!state) return;
  headers[`x-ratelimit-limit-${name}`] = `${state.limit}`;
  headers[`x-ratelimit-remaining-${name}`] = `${state.remaining}`;
  headers[`x-ratelimit-reset-${name}`] = goDuration(state.resetMs);
}

function addAnthropic(
  headers: Record<string, string>,
  name: string,
  state: RateState | undefined,
  now: number,
): void {
  if (!state) return;
  headers[`anthropic-ratelimit-${name}-limit`] = `${state.limit}`;
  headers[`anthropic-ratelimit-${name}-remaining`] = `${state.remaining}`;
  // RFC 3339 in whole seconds, rounded up: at that time the limit is reset.
  headers[`anthropic-ratelimit-${name}-reset`] =
    `${new Date(Math.ceil((now + state.resetMs) / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** `6m0s`, `1.5s`, `20ms`: the form of Go, which OpenAI uses. */
function goDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${(ms % 60_000) / 1000}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
