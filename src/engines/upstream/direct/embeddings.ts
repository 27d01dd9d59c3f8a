import { type Fields, fieldsOf } from '../../../base/fields.ts';
import { ApiError, invalid } from '../../../core/errors.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import type { Embeddings, EmbeddingsRequest } from '../../../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { splitTextInputs } from '../../../wire/shared/text-inputs.ts';
import { isTruncated, promptTooLong, readUsage } from '../answer/usage.ts';
import { unusable } from '../connection/parse-body.ts';
import type { Repairs } from '../connection/repairs.ts';
import { named } from '../request/request-members.ts';
import type { DirectCodec, DirectReadOptions } from './direct-codec.ts';

export const embeddingsCodec: DirectCodec<EmbeddingsRequest, Embeddings> = {
  path: 'embeddings',
  members: named('model input encoding_format dimensions'),

  // Some servers ignore base64, none rejects floats.
  edit({ encoding_format: format }, edits) {
    if (format !== undefined) edits.set('encoding_format', '"float"');
  },

  expect(request) {
    const expected = expectedOf(request);
    return {
      read: (answer, options) => readEmbeddings(answer, expected, options),
      explain: (error) => refusedDimensions(error, expected),
    };
  },
};

/** Expected answer. It does not hold the inputs, so that they can be released meanwhile. */
interface ExpectedEmbeddings {
  inputs: number;
  dimensions: number | null;
  input: () => EmbeddingsRequest['input'];
}

function expectedOf(request: JsonBody<EmbeddingsRequest>): ExpectedEmbeddings {
  const { input, dimensions } = request.value;
  return {
    inputs: splitTextInputs('input', input).length,
    dimensions: dimensions ?? null,
    input: () => request.value.input,
  };
}

/**
 * Reads vectors in the order of the inputs, from numbers or from base64 of little-endian float32.
 * @throws ApiError `invalid_upstream_response`; `validation_error` where the server ignored `dimensions`;
 * `context_length_exceeded` where it truncated an input
 */
function readEmbeddings(
  fields: Fields,
  { inputs, dimensions, input }: ExpectedEmbeddings,
  { repairs, trace, cutsAt }: DirectReadOptions,
): Embeddings {
  const { data } = fields;
  const usage = readUsage(fields['usage'], trace);
  // Some servers report only the total, which is that of the inputs.
  const reported = usage.prompt || usage.total;
  if (!Array.isArray(data)) throw unusable('has no embeddings');
  if (data.length !== inputs) throw unusable(`has ${data.length} embeddings for ${inputs} inputs`);
  const vectors: Float32Array[] = [];
  for (const [at, item] of data.entries()) {
    const { index, embedding } = fieldsOf(item);
    const place = Number.isInteger(index) ? (index as number) : at;
    if (place < 0 || place >= inputs || vectors[place]) throw unusable('has invalid embedding indexes');
    vectors[place] = readVector(embedding);
  }
  const length = vectors[0]?.length ?? 0;
  if (vectors.some((vector) => vector.length !== length))
    throw unusable('has embeddings of different lengths');
  if (dimensions && dimensions !== length)
    throw invalid('dimensions', `this model has ${length} dimensions and supports no other number.`);
  if (cutsAt) requireNotTruncated(reported, input(), cutsAt);
  return { vectors, promptTokens: reported || estimateTokens(input(), repairs) };
}

/** Inputs are truncated one by one but counted together, so the count says something about a single input only. */
function requireNotTruncated(
  reported: number | undefined,
  input: EmbeddingsRequest['input'],
  context: number,
): void {
  const texts = [input].flat().filter((each) => typeof each === 'string');
  const longest = () => Math.max(0, ...texts.map(estimateText));
  if (isTruncated(texts.length === 1 ? (reported ?? 0) : 0, longest, context)) throw promptTooLong(context);
}

/** Turns a refusal that names the dimensions into a validation error. */
function refusedDimensions(error: unknown, { dimensions }: ExpectedEmbeddings): unknown {
  const isRefusal = error instanceof ApiError && error.code === 'request_refused';
  if (!dimensions || !isRefusal || !/dimension|matryoshka/i.test(error.message)) return error;
  return invalid('dimensions', `this model does not support ${dimensions} dimensions. ${error.message}`);
}

/** Counts token ids, or estimates the tokens of text. Some servers report 0 for unknown. */
function estimateTokens(input: EmbeddingsRequest['input'], repairs: Repairs): number {
  const ids = typeof input === 'string' ? 0 : input.flat().filter((each) => typeof each === 'number').length;
  if (ids > 0) return ids;
  repairs.add('usage estimated');
  return estimateText([input].flat().join(' '));
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
