import { type Fields, fieldsOf } from '../../base/fields.ts';
import { ApiError, permanent, invalid } from '../../core/errors.ts';
import { estimateText } from '../../wire/chat/request/estimate-prompt.ts';
import type { EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { splitTextInputs } from '../../wire/shared/text-inputs.ts';
import type { Embeddings, Engine } from '../engines.ts';
import type { ReadOptions } from './answer/chat-response.ts';
import { isTruncated, promptTooLong, readUsage } from './answer/usage.ts';
import type { JsonClient } from './connection/json-client.ts';
import { unusable } from './connection/parse-body.ts';
import type { Repairs } from './connection/repairs.ts';
import { AbsentError } from './connection/status-errors.ts';
import type { Prober } from './probe/prober.ts';
import { embeddingsMembers } from './request/request-members.ts';
import { embeddingsText } from './request/request-text.ts';

export function createEmbeddingsCall(
  client: JsonClient,
  prober: Prober,
  { model, passThrough = [] }: { model: string; passThrough?: readonly string[] | undefined },
): Engine['embed'] {
  const members = embeddingsMembers(passThrough);
  const { repairs } = client;
  return async (request, call) => {
    const { trace } = call;
    const { salt } = prober.profile.requestFor(call);
    const body = Buffer.from(embeddingsText(request, { model, members, salt }));
    const expected = expectedOf(request);
    request.release?.();
    const { fields } = await client
      .post(prober.profile.embeddingsPath, body, call)
      .catch(async (error: unknown) => {
        if (error instanceof AbsentError && (await prober.listsModel())) throw noEmbeddings();
        throw refusedDimensions(error, expected);
      });
    return readEmbeddings(fields, expected, { repairs, trace, cutsAt: prober.profile.reading.cutsAt });
  };
}

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
 * @param options `cutsAt`: context of a server that silently truncates longer inputs, if known
 * @throws ApiError `invalid_upstream_response`; `validation_error` where the server ignored `dimensions`;
 * `context_length_exceeded` where it truncated an input
 */
function readEmbeddings(
  fields: Fields,
  { inputs, dimensions, input }: ExpectedEmbeddings,
  { repairs, trace, cutsAt }: Pick<ReadOptions, 'repairs' | 'trace' | 'cutsAt'>,
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

/** Error for a server that has the model but does not embed with it. */
function noEmbeddings(): ApiError {
  const message = 'The server of this model does not support embeddings with it.';
  return new ApiError('model_not_found', message, { param: 'model', blame: permanent });
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
