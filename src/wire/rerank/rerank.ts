import type { DirectRequest } from '../shared/direct-format.ts';

/** Body of `POST /v1/rerank`, as of Jina, Cohere and vLLM. */
export interface RerankRequest extends DirectRequest {
  query: string;
  documents: readonly RerankDocument[];
  /** Results to return; all if absent. */
  top_n?: number | null;
  /** True if absent. */
  return_documents?: boolean | null;
}

export type RerankDocument = string | { text: string };

/** Relevance of documents as an engine rates it. */
export interface Ranking {
  /** In descending order of the score. */
  ranked: readonly RankedDocument[];
  promptTokens: number;
}

export interface RankedDocument {
  /** Position of the document in the request. */
  index: number;
  score: number;
}

export function documentText(document: RerankDocument): string {
  return typeof document === 'string' ? document : document.text;
}
