import { ApiError } from '../core/errors.ts';
import type { Need } from './admit.ts';
import { kindNames } from './kinds.ts';

const units = {
  requests: 'requests per minute',
  inputTokens: 'input tokens per minute',
  outputTokens: 'output tokens per minute',
  concurrent: 'concurrent requests',
} as const;

/** Error for a request that the limit of `need` refuses for `waitMs`. */
export function refusal(need: Need, waitMs: number, now: number): ApiError {
  // Waiting does not help where nothing is allowed.
  const retry = need.limit === 0 ? { shouldRetry: false } : { retryAfter: waitMs / 1000 };
  return new ApiError('rate_limit_exceeded', message(need, waitMs, now), retry);
}

function message({ owner, kind, limit, amount, bucket }: Need, waitMs: number, now: number): string {
  const [unit, field] = [units[kind], kindNames[kind]];
  const whose = owner === 'org' ? 'organization' : 'API key';
  if (limit === 0)
    return `The limit of this ${whose}, 0 ${unit} (${field}), allows no requests. Ask the operator to raise it.`;
  const used = limit - bucket.state(limit, now).remaining;
  if (kind === 'concurrent')
    return `The limit of this ${whose}, ${limit} ${unit} (${field}), is reached: ${used} are in flight. Try again when one has ended.`;
  return `The limit of this ${whose}, ${limit} ${unit} (${field}), is used up: ${used} used, ${amount} needed. Try again in ${seconds(waitMs)}.`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.ceil(ms / 100) / 10} s`;
}
