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
  /** Stored responses and chat completions. */
  storedResponses?: number;
}

/** Limits that apply to a caller. */
export interface CallerLimits {
  org: Limits;
  key: Limits;
}

/** Priority of a batch within its org: 0 to 9, higher first. */
export const priorities = { min: 0, default: 5, max: 9 } as const;
