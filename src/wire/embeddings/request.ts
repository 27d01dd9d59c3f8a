import type { JsonBody } from '../json/json-body.ts';
import { requestedModel, integerOrNull, object, oneOfOrNull } from '../schema/schema.ts';
import { checkTextInputs, textInputsSchema } from '../shared/text-inputs.ts';
import { parseBody, validator } from '../schema/validate.ts';
import type { EmbeddingsRequest } from './embeddings.ts';

/** `POST /v1/embeddings` (wire-formats.md, section 1d). */
export const embeddingsLimits = { inputs: 2_048, dimensions: 65_536 } as const;

export const embeddingsRequestSchema = object(
  {
    model: requestedModel,
    input: textInputsSchema(
      `A text, up to ${embeddingsLimits.inputs} texts, one text as token ids, or several of those.`,
    ),
    'encoding_format?': oneOfOrNull(['float', 'base64']),
    'dimensions?': integerOrNull({ minimum: 1, maximum: embeddingsLimits.dimensions }),
  },
  { title: 'EmbeddingsRequest' },
);

/**
 * Reads an embeddings request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseEmbeddingsRequest(text: string): JsonBody<EmbeddingsRequest> {
  return parseBody(text, checkEmbeddingsRequest);
}

/** Every fault of a parsed body; also the rule for a batch line's body. */
export const checkEmbeddingsRequest = validator(
  embeddingsRequestSchema,
  ({ input }: EmbeddingsRequest, add) => checkTextInputs('input', input, embeddingsLimits.inputs, add),
);
