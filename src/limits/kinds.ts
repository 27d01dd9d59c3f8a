import type { LimitName } from '../core/limits.ts';
import type { Rate } from '../core/rates.ts';

/** Kind of a limit on single requests. */
export type Kind = Rate | 'concurrent';

/** Names of the limits in the API. */
export const kindNames = {
  requests: 'requests_per_minute',
  inputTokens: 'input_tokens_per_minute',
  outputTokens: 'output_tokens_per_minute',
  concurrent: 'concurrent_requests',
} as const satisfies Record<Kind, LimitName>;
