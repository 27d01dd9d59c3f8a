import type { Fault } from '../../core/errors.ts';
import { describe } from '../explain.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson } from '../json/parse.ts';
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
  return faults.length > 0 ? faults : checkInput((value as EmbeddingsRequest).input);
}

/** All inputs are of one kind, and there are not too many; one text as token ids may be long. */
function checkInput(input: EmbeddingsRequest['input']): Fault[] {
  if (typeof input === 'string') return [];
  const kind = kindOf(input[0]);
  const odd = (input as unknown[]).findIndex((item) => kindOf(item) !== kind);
  if (odd >= 0) {
    const message = `expected ${kind} like the items before it, got ${describe(input[odd])}`;
    return [{ param: `input[${odd}]`, code: 'validation_error', message }];
  }
  if (kind === 'a token id' || input.length <= embeddingsLimits.inputs) return [];
  const message = `expected at most ${embeddingsLimits.inputs} items, got ${input.length}`;
  return [{ param: 'input', code: 'validation_error', message }];
}

function kindOf(item: unknown): string {
  if (typeof item === 'string') return 'a string';
  return typeof item === 'number' ? 'a token id' : 'an array of token ids';
}
