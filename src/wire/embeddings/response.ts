import { array, integer, literal, object, string } from '../schema/schema.ts';
import type { Embeddings, EmbeddingsRequest, EmbeddingsResponse } from './embeddings.ts';

export const embeddingsResponseSchema = object(
  {
    object: literal('list'),
    model: string(),
    data: array(
      object({
        object: literal('embedding'),
        index: integer(),
        embedding: {
          type: ['array', 'string'],
          items: { type: 'number' },
          description: 'Numbers, or base64 of little-endian float32 values.',
        },
      }),
    ),
    usage: object({ prompt_tokens: integer(), total_tokens: integer() }),
  },
  { title: 'Embeddings' },
);

type Format = EmbeddingsRequest['encoding_format'];

/**
 * Builds the answer in the requested encoding, whichever the engine supports.
 * @param model id of the model that served the request
 */
export function embeddingsResponse(answer: Embeddings, model: string, format: Format): EmbeddingsResponse {
  return {
    object: 'list',
    model,
    data: answer.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encodeEmbedding(vector, format),
    })),
    usage: { prompt_tokens: answer.promptTokens, total_tokens: answer.promptTokens },
  };
}

/** Numbers, or base64 of little-endian float32. */
export function encodeEmbedding(vector: Float32Array, format: Format): number[] | string {
  if (format !== 'base64') return Array.from(vector);
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (let index = 0; index < vector.length; index += 1) view.setFloat32(index * 4, vector[index]!, true);
  let binary = '';
  for (let at = 0; at < view.byteLength; at += 1) binary += String.fromCharCode(view.getUint8(at));
  return btoa(binary);
}
