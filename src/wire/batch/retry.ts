import { omitNullish } from '../../base/fields.ts';
import type { BatchWindow, BatchWindows } from '../../core/batch-window.ts';
import { array, booleanOrNull, object, orNull, string } from '../schema/schema.ts';
import { faultsError, parseBody, validator } from '../schema/validate.ts';
import { readWindow } from './window.ts';

/** Body of `POST /v1/batches/{id}/retry`. */
export const retrySchema = object(
  {
    'codes?': orNull(
      array(string({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: 100,
        description:
          'Only requests that failed with one of these error codes; all failed requests by default.',
      }),
    ),
    'completion_window?': orNull(
      string({
        description: 'Window of the new batch; by default that of the old one, if it is still offered.',
      }),
    ),
    'dry_run?': booleanOrNull({ description: 'Only counts the requests and estimates their cost.' }),
  },
  { additionalProperties: false, title: 'RetryBatch' },
);

/** Selection of failed requests. */
export interface RetryOptions {
  /** Error codes; all if absent. */
  codes?: readonly string[];
  /** Window of the new batch: null for the default one, that of the old batch if absent. */
  window?: BatchWindow | null;
}

interface Body {
  codes?: string[] | null;
  completion_window?: string | null;
  dry_run?: boolean | null;
}

const check = validator(retrySchema);

/** @throws ApiError `validation_error` */
export function parseRetry(text: string, windows: BatchWindows): { options: RetryOptions; dryRun: boolean } {
  const { value } = parseBody<Body>(text, check);
  const { codes, completion_window: name, dry_run: dryRun } = value;
  const { window, fault } = readWindow(name, windows);
  if (fault) throw faultsError([fault]);
  const named = typeof name === 'string' ? { window: window ?? null } : {};
  return { options: { ...omitNullish({ codes }), ...named }, dryRun: dryRun === true };
}
