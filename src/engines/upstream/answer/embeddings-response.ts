import { ApiError, permanent, invalid } from '../../../core/errors.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import type { EmbeddingsRequest } from '../../../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { splitTextInputs } from '../../../wire/shared/text-inputs.ts';
import type { Embeddings } from '../../engines.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import { unusable } from '../connection/parse-body.ts';
import type { ReadOptions } from './chat-response.ts';
import type { Repairs } from '../connection/repairs.ts';
import { noteReported, tooLongPrompt, wasCut } from './usage.ts';
import { usageFigures } from './usage-figures.ts';

/** What is wanted, without the inputs themselves, which are read again where they are needed. */
export interface Wanted {
  inputs: number;
  dimensions: number | null;
  input: () => EmbeddingsRequest['input'];
}

export function wantedOf(request: JsonBody<EmbeddingsRequest>): Wanted {
  const { input, dimensions } = request.value;
  return {
    inputs: splitTextInputs('input', input).length,
    dimensions: dimensions ?? null,
    input: () => request.value.input,
  };
}

/**
 * Vectors in the order of the inputs, whether they came as numbers or as base64 of little-endian float32.
 * @param options `cutsAt`: the context of a server that cuts longer inputs silently, where it is known
 * @throws ApiError `invalid_upstream_response`; `validation_error` when the server did not heed `dimensions`;
 * `context_length_exceeded` when an input was cut
 */
export function readEmbeddings(
  fields: Fields,
  { inputs, dimensions, input }: Wanted,
  { repairs, known, cutsAt }: Pick<ReadOptions, 'repairs' | 'known' | 'cutsAt'>,
): Embeddings {
  const { data } = fields;
  noteReported(known, fields['usage']);
  if (!Array.isArray(data)) throw unusable('has no embeddings');
  if (data.length !== inputs) throw unusable(`has ${data.length} embeddings for ${inputs} inputs`);
  const vectors: Float32Array[] = [];
  for (const [at, item] of data.entries()) {
    const { index, embedding } = fieldsOf(item);
    const place = Number.isInteger(index) ? (index as number) : at;
    if (place < 0 || place >= inputs || vectors[place]) throw unusable('numbers its embeddings wrongly');
    vectors[place] = readVector(embedding);
  }
  const length = vectors[0]?.length ?? 0;
  if (vectors.some((vector) => vector.length !== length))
    throw unusable('has embeddings of different lengths');
  if (dimensions && dimensions !== length)
    throw invalid('dimensions', `this model gives ${length} and cannot be asked for another number.`);
  if (cutsAt) requireUncut(fields, input(), cutsAt);
  return { vectors, promptTokens: promptTokens(fields, input, repairs) };
}

/** Each input is cut by itself, and the tokens of all are told together: of one alone they tell. */
function requireUncut(fields: Fields, input: EmbeddingsRequest['input'], cutsAt: number): void {
  const texts = [input].flat().filter((each) => typeof each === 'string');
  const told = toldTokens(fields) ?? 0;
  const longest = () => Math.max(0, ...texts.map(estimateText));
  if (wasCut(texts.length === 1 ? told : 0, longest, cutsAt)) throw tooLongPrompt(cutsAt);
}

/** A refusal that names the dimensions is the client's to mend, and told as such. */
export function refusedDimensions(error: unknown, { dimensions }: Wanted): unknown {
  const isRefusal = error instanceof ApiError && error.code === 'request_refused';
  if (!dimensions || !isRefusal || !/dimension|matryoshka/i.test(error.message)) return error;
  return invalid('dimensions', `this model cannot be asked for ${dimensions}. ${error.message}`);
}

/** What stands for embeddings that a server does not make, though it has the model. */
export function noEmbeddings(): ApiError {
  const told = 'The server of this model makes no embeddings with it.';
  return new ApiError('model_not_found', told, { param: 'model', blame: permanent });
}

/** No text has no tokens: some servers say zero where they mean that they do not know. */
function promptTokens(fields: Fields, input: Wanted['input'], repairs: Repairs): number {
  const counted = toldTokens(fields) || tokenIds(input());
  if (counted) return counted;
  repairs.add('usage estimated');
  return estimateText([input()].flat().join(' '));
}

/** Some servers report the total alone, which is that of the inputs. */
function toldTokens({ usage }: Fields): number | undefined {
  const { prompt, total } = usageFigures(usage);
  return prompt || total;
}

/** How many tokens an input is that came as their ids; 0 for text. */
function tokenIds(input: EmbeddingsRequest['input']): number {
  return typeof input === 'string' ? 0 : input.flat().filter((each) => typeof each === 'number').length;
}

function readVector(embedding: unknown): Float32Array {
  const vector = typeof embedding === 'string' ? fromBase64(embedding) : fromNumbers(embedding);
  if (vector.length === 0 || !vector.every(Number.isFinite))
    throw unusable('has an embedding that is not numbers');
  return vector;
}

function fromNumbers(embedding: unknown): Float32Array {
  if (!Array.isArray(embedding)) return new Float32Array();
  return Float32Array.from(embedding, (value) => (typeof value === 'number' ? value : Number.NaN));
}

function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const vector = new Float32Array(Math.floor(bytes.length / 4));
  for (let i = 0; i < vector.length; i++) vector[i] = bytes.readFloatLE(i * 4);
  return vector;
}
