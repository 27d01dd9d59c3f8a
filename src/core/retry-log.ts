import { causeText } from '../base/cause-text.ts';
import type { Log } from '../base/log.ts';
import { BlobError } from './blob-error.ts';
import { isDatabaseOutage } from './database-fault.ts';
import { ApiError } from './errors.ts';

/** Messages of an operation that is repeated until it succeeds. */
export interface RetryMessages {
  failed: string;
  /** Logged when the operation succeeds after an outage. */
  succeeded: string;
}

export type RetryLog = ReturnType<typeof createRetryLog>;

/**
 * Logs the failures of an operation that is repeated until it succeeds. An outage of the database or the files, such as a full disk,
 * has one warning at its beginning and one line at its end, both without a stack. Any other failure has a line and a stack each time.
 */
export function createRetryLog(log: Log, messages: RetryMessages, level: 'warn' | 'error' = 'error') {
  let isOut = false;
  return {
    failed(error: unknown, fields: object = {}): void {
      const outage = outageFields(error);
      if (!outage) return log[level]({ err: error, ...fields }, messages.failed);
      log[isOut ? 'debug' : 'warn']({ ...outage, ...fields }, messages.failed);
      isOut = true;
    },
    succeeded(): void {
      if (isOut) log.info({}, messages.succeeded);
      isOut = false;
    },
  };
}

/** Fields of a failure in a log line: reason and cause of an outage of the storage, the stack of any other error. */
export function failureFields(error: unknown): object {
  return outageFields(error) ?? { err: error };
}

function outageFields(
  error: unknown,
): { code: string; reason: string; cause: string | undefined } | undefined {
  const isFull = error instanceof ApiError && error.code === 'insufficient_storage';
  const isBlobOutage = error instanceof BlobError && error.code === 'unavailable';
  if (!isFull && !isBlobOutage && !isDatabaseOutage(error)) return undefined;
  const { code, message: reason, cause } = error as Error & { code: string };
  return { code, reason, cause: causeText(cause) };
}
