import type { Fault } from '../../core/errors.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson } from '../json/parse.ts';
import { checkTextInputs } from '../text-inputs.ts';
import { faultsError, validator } from '../validate.ts';
import type { EmbeddingsRequest } from './embeddings.ts';
import { embeddingsLimits, embeddingsRequestSchema } from './schema.ts';

const checkShape = validator(embeddingsRequestSchema);

/**
 * Reads an embeddings request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseEmbeddingsRequest(text: string): JsonBody<EmbeddingsRequest> {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = checkEmbeddingsRequest(value);
  if (faults.length > 0) throw faultsError(faults);
  return { value: value as EmbeddingsRequest, text };
}

/** Every fault of a parsed body; also the rule for a batch line's body. */
export function checkEmbeddingsRequest(value: unknown): Fault[] {
  const faults = checkShape(value);
  if (faults.length > 0) return faults;
  return checkTextInputs('input', (value as EmbeddingsRequest).input, embeddingsLimits.inputs);
}
