import type { Fault } from '../../core/errors.ts';
import type { JsonBody } from '../json/json-body.ts';
import { checkTextInputs } from '../text-inputs.ts';
import { parseBody, validator } from '../validate.ts';
import type { EmbeddingsRequest } from './embeddings.ts';
import { embeddingsLimits, embeddingsRequestSchema } from './schema.ts';

const checkShape = validator(embeddingsRequestSchema);

/**
 * Reads an embeddings request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseEmbeddingsRequest(text: string): JsonBody<EmbeddingsRequest> {
  return parseBody(text, checkEmbeddingsRequest);
}

/** Every fault of a parsed body; also the rule for a batch line's body. */
export function checkEmbeddingsRequest(value: unknown): Fault[] {
  const faults = checkShape(value);
  if (faults.length > 0) return faults;
  return checkTextInputs('input', (value as EmbeddingsRequest).input, embeddingsLimits.inputs);
}
