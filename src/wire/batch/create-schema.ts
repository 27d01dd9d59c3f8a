import { Type } from '../json-schema.ts';
import { batchEndpoints, usualEndpoints } from '../../core/batch.ts';
import { anyObject, booleanOrNull, nullable, oneOf, raw, string, stringOrNull } from '../schema.ts';

/** `POST /v1/batches` (specification, section 4.1; api.md, section 5). */
export const metadataLimits = { bytes: 16_384, levels: 8 } as const;
export const expiryLimits = { shortest: 3_600, longest: 2_592_000 } as const;

/** One request: a line of an input file, or an element of `requests`. */
export const batchLineSchema = Type.Object(
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
  input_file_id: Type.Optional(stringOrNull({ description: 'An uploaded file with purpose batch.' })),
  metadata: Type.Optional(
    nullable('object', { description: 'Free-form, up to 16 KiB and eight levels; echoed as it came.' }),
  ),
  output_expires_after: Type.Optional(
    nullable('object', {
      required: ['anchor', 'seconds'],
      additionalProperties: false,
      properties: {
        anchor: oneOf(['created_at']),
        seconds: { type: 'integer', minimum: expiryLimits.shortest, maximum: expiryLimits.longest },
      },
    }),
  ),
  dry_run: Type.Optional(
    booleanOrNull({ description: 'Validates and estimates the cost; nothing is stored.' }),
  ),
};

/** For the OpenAPI document. */
export const createBatchSchema = Type.Object(
  {
    ...fields,
    requests: Type.Optional(
      raw({ type: ['array', 'null'], minItems: 1, maxItems: 10_000, items: batchLineSchema }),
    ),
  },
  {
    additionalProperties: false,
    title: 'CreateBatch',
    description: 'Exactly one of input_file_id and requests is given.',
  },
);

/** What is checked of the body around its requests; these are lines with rules of their own. */
export const createBatchFrameSchema = Type.Object(
  { ...fields, endpoint: string(), requests: Type.Optional(nullable('array')) },
  { additionalProperties: false },
);
