import { omitNullish } from '../base/fields.ts';

/**
 * Limits of an org or of one key; absent ones do not apply. A request must fit the limits of its org and of its key. Batch lines
 * count against the limits of batches only, never against rates per minute.
 */
export interface Limits {
  /** Single requests per minute. */
  requestsPerMinute?: number;
  /** Input tokens of single requests per minute. */
  inputTokensPerMinute?: number;
  /** Output tokens of single requests per minute. */
  outputTokensPerMinute?: number;
  /** Single requests in flight. */
  concurrentRequests?: number;
  /** Batches that are not finished. */
  openBatches?: number;
  /** Unfinished requests of all open batches. */
  queuedRequests?: number;
  /** Estimated tokens of the unfinished requests of all open batches, by model id. */
  queuedTokens?: Readonly<Record<string, number>>;
  /** Bytes of files, results included. */
  storedBytes?: number;
  /** Stored responses, chat completions, conversations and their items. */
  storedResponses?: number;
}

export type RequestLimits = Pick<
  Limits,
  'requestsPerMinute' | 'inputTokensPerMinute' | 'outputTokensPerMinute' | 'concurrentRequests'
>;

export interface CallerLimits {
  org: Limits;
  key: Limits;
}

/** Names of the limits in the API, each with its field. */
export const limitFields = {
  requests_per_minute: 'requestsPerMinute',
  input_tokens_per_minute: 'inputTokensPerMinute',
  output_tokens_per_minute: 'outputTokensPerMinute',
  concurrent_requests: 'concurrentRequests',
  open_batches: 'openBatches',
  queued_requests: 'queuedRequests',
  queued_tokens: 'queuedTokens',
  stored_bytes: 'storedBytes',
  stored_responses: 'storedResponses',
} as const satisfies Record<string, keyof Limits>;

export type LimitName = keyof typeof limitFields;
export const limitNames = Object.keys(limitFields) as LimitName[];

/** Limits that are set, by their names in the API. */
export function namedLimits(limits: Limits): { [Name in LimitName]?: Limits[(typeof limitFields)[Name]] } {
  const set = limitNames.filter((name) => limits[limitFields[name]] !== undefined);
  return Object.fromEntries(set.map((name) => [name, limits[limitFields[name]]]));
}

/** New values of limits: null lifts a limit, and absent ones stay. Null for all of them lifts every limit. */
export type LimitChanges =
  | ({ [Field in Exclude<keyof Limits, 'queuedTokens'>]?: number | null } & {
      queuedTokens?: Readonly<Record<string, number | null>> | null;
    })
  | null;

export function changeLimits(limits: Limits, changes: LimitChanges): Limits {
  if (changes === null) return {};
  const { queuedTokens: models, ...numbers } = changes;
  const { queuedTokens, ...others } = limits;
  const byModel = models === undefined ? queuedTokens : models && { ...queuedTokens, ...models };
  const set = byModel && (omitNullish(byModel) as Record<string, number>);
  return {
    ...omitNullish({ ...others, ...numbers }),
    ...(set && Object.keys(set).length > 0 && { queuedTokens: set }),
  };
}

/** Priority of a batch within its org: 0 to 9, higher first. */
export const priorities = { min: 0, default: 5, max: 9 } as const;
