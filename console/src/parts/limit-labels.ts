import type { LimitUseName } from '../../../src/core/limit-use.ts';

/** Names of limits. */
export const limitLabels: Readonly<Record<LimitUseName, string>> = {
  requests_per_minute: 'Requests per minute',
  input_tokens_per_minute: 'Input tokens per minute',
  output_tokens_per_minute: 'Output tokens per minute',
  concurrent_requests: 'Requests in flight',
  open_batches: 'Open batches',
  queued_requests: 'Queued requests',
  queued_tokens: 'Queued tokens by model',
  stored_bytes: 'Stored bytes',
  stored_responses: 'Stored responses',
  response_bytes: 'Bytes of responses',
};
