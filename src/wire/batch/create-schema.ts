import * as t from '../schema/schema.ts';
import { priorities } from '../../core/limits.ts';
import { batchEndpoints, defaultEndpoints } from '../../core/batch.ts';

export const metadataLimits = { bytes: 16_384, levels: 8 } as const;
export const expiryLimits = { minSeconds: 3_600, maxSeconds: 2_592_000 } as const;

/** Request of a batch: a line of an input file, or an element of `requests`. */
export const batchLineSchema = t.object(
  {
    custom_id: t.string({
      minLength: 1,
      maxLength: 512,
      description: 'Unique in the batch; repeated on the result line.',
    }),
    method: t.oneOf(['POST']),
    url: t.oneOf(batchEndpoints, { description: 'The endpoint of the batch, the same on all lines.' }),
    body: t.anyObject({ description: 'The request body for that endpoint, not streamed.' }),
  },
  { additionalProperties: false, title: 'BatchRequest' },
);

const fields = {
  endpoint: t.oneOf(batchEndpoints, {
    description: `${defaultEndpoints.join(' and ')}; others if batch.endpoints in the configuration enables them.`,
  }),
  completion_window: t.string({
    description: '24h, or another window of the configuration (batch.windows), such as 1h.',
  }),
  'input_file_id?': t.stringOrNull({ description: 'An uploaded file with purpose batch.' }),
  'metadata?': t.orNull(
    t.anyObject({ description: 'Free-form, up to 16 KiB and eight levels; returned unchanged.' }),
  ),
  'output_expires_after?': t.orNull(
    t.object(
      {
        anchor: t.oneOf(['created_at']),
        seconds: t.integer({ minimum: expiryLimits.minSeconds, maximum: expiryLimits.maxSeconds }),
      },
      { additionalProperties: false },
    ),
  ),
  'priority?': t.orNull(
    t.integer({
      minimum: priorities.min,
      maximum: priorities.max,
      description: `Batches of the org with a higher priority run first; ${priorities.default} by default.`,
    }),
  ),
  'strict_fields?': t.booleanOrNull({
    description: 'Rejects requests with unknown fields, such as misspelt parameters, instead of a warning.',
  }),
  'dry_run?': t.booleanOrNull({ description: 'Only validates the batch and estimates its cost.' }),
};

export const createBatchSchema = t.object(
  {
    ...fields,
    'requests?': t.orNull(t.array(batchLineSchema, { minItems: 1, maxItems: 10_000 })),
  },
  {
    additionalProperties: false,
    title: 'CreateBatch',
    description: 'Exactly one of input_file_id and requests is required.',
  },
);

/** The body around its requests, which are checked as lines. */
export const createBatchFrameSchema = t.object(
  { ...fields, endpoint: t.string(), 'requests?': { type: ['array', 'null'] } },
  { additionalProperties: false },
);
