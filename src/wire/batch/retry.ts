import { omitNullish } from '../../base/fields.ts';
import { array, booleanOrNull, object, orNull, string } from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';

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
    'dry_run?': booleanOrNull({ description: 'Only counts the requests and estimates their cost.' }),
  },
  { additionalProperties: false, title: 'RetryBatch' },
);

/** Selection of failed requests. */
export interface RetryOptions {
  /** Error codes; all if absent. */
  codes?: readonly string[];
}

const check = validator(retrySchema);

/** @throws ApiError `validation_error` */
export function parseRetry(text: string): { options: RetryOptions; dryRun: boolean } {
  const { value } = parseBody<{ codes?: string[] | null; dry_run?: boolean | null }>(text, check);
  return { options: omitNullish({ codes: value.codes }), dryRun: value.dry_run === true };
}
