import type { TextInputs } from '../shared/text-inputs.ts';

/** Body of `POST /v1/embeddings`. */
export interface EmbeddingsRequest {
  model: string;
  input: TextInputs;
  encoding_format?: 'float' | 'base64' | null;
  dimensions?: number | null;
  user?: string;
  service_tier?: string | null;
  [extra: string]: unknown;
}

/** Tells an embeddings request from a chat request. */
export function isEmbeddings(request: object): request is EmbeddingsRequest {
  return 'input' in request && !('messages' in request);
}

/** Embeddings as an engine makes them. */
export interface Embeddings {
  /** One vector for each input, in order, of the model's length; the embedded engine normalises to length 1. */
  vectors: Float32Array[];
  promptTokens: number;
}

export interface EmbeddingsResponse {
  object: 'list';
  model: string;
  /** `embedding` is base64 of little-endian float32 when `encoding_format` is base64. */
  data: { object: 'embedding'; index: number; embedding: number[] | string }[];
  usage: { prompt_tokens: number; total_tokens: number };
}
