import {
  string,
  array,
  integer,
  object,
  orNull,
  anyObject,
  oneOf,
  stringOrNull,
  booleanOrNull,
} from '../schema.ts';
import { batchEndpoints, usualEndpoints } from '../../core/batch.ts';

/** `POST /v1/batches` (specification, section 4.1; api.md, section 5). */
export const metadataLimits = { bytes: 16_384, levels: 8 } as const;
export const expiryLimits = { shortest: 3_600, longest: 2_592_000 } as const;

/** One request: a line of an input file, or an element of `requests`. */
export const batchLineSchema = object(
  {
    custom_id: string({
      minLength: 1,
      maxLength: 512,
      description: 'Unique in the batch; echoed on the result line.',
    }),
    method: oneOf(['POST']),
    url: oneOf(batchEndpoints, { description: 'The endpoint of the batch, on all lines.' }),
    body: anyObject({ description: 'The request body for that endpoint, not streamed.' }),
  },
  { additionalProperties: false, title: 'BatchRequest' },
);

const fields = {
  endpoint: oneOf(batchEndpoints, {
    description: `${usualEndpoints.join(' and ')} everywhere, others where batch.endpoints of the configuration opens them.`,
  }),
  completion_window: string({
    description: '24h, or what batch.completion_window of the configuration says: both mean the latter.',
  }),
  'input_file_id?': stringOrNull({ description: 'An uploaded file with purpose batch.' }),
  'metadata?': orNull(
    anyObject({
      description: 'Free-form, up to 16 KiB and eight levels; echoed as it came.',
    }),
  ),
  'output_expires_after?': orNull(
    object(
      {
        anchor: oneOf(['created_at']),
        seconds: integer({ minimum: expiryLimits.shortest, maximum: expiryLimits.longest }),
      },
      { additionalProperties: false },
    ),
  ),
  'dry_run?': booleanOrNull({ description: 'Validates and estimates the cost; nothing is stored.' }),
};

/** For the OpenAPI document. */
export const createBatchSchema = object(
  {
    ...fields,
    'requests?': orNull(array(batchLineSchema, { minItems: 1, maxItems: 10_000 })),
  },
  {
    additionalProperties: false,
    title: 'CreateBatch',
    description: 'Exactly one of input_file_id and requests is given.',
  },
);

/** What is checked of the body around its requests; these are lines with rules of their own. */
export const createBatchFrameSchema = object(
  { ...fields, endpoint: string(), 'requests?': { type: ['array', 'null'] } },
  { additionalProperties: false },
);
