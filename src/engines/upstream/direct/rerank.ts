import { type Fields, fieldsOf } from '../../../base/fields.ts';
import {
  documentText,
  type RankedDocument,
  type Ranking,
  type RerankRequest,
} from '../../../wire/rerank/rerank.ts';
import { rerankFormat } from '../../../wire/rerank/format.ts';
import { unusable } from '../connection/parse-body.ts';
import { named } from '../request/request-members.ts';
import { type DirectCodec, inputTokens } from './direct-codec.ts';

/** Rankings, in the forms of Jina, Cohere, vLLM, llama-server and SGLang. */
export const rerankCodec: DirectCodec<RerankRequest, Ranking> = {
  path: 'rerank',
  members: named('model query documents top_n return_documents'),
  // SGLang answers with a list.
  listName: 'results',

  edit({ documents, top_n: most, return_documents: returns }, edits) {
    // Every server takes texts; some take no objects.
    if (documents.some((document) => typeof document !== 'string'))
      edits.set('documents', JSON.stringify(documents.map(documentText)));
    if (most === null) edits.set('top_n', null);
    // The documents come from the request. Cohere refuses the member.
    if (returns !== undefined && returns !== false) edits.set('return_documents', null);
  },

  expect(request) {
    const { documents, top_n: most } = request.value;
    const count = documents.length;
    return {
      read(answer, options) {
        const ranked = readRanking(answer['results'], count, most ?? count);
        const estimate = () => rerankFormat.inputTokens(request.value);
        return { ranked, promptTokens: inputTokens(usageOf(answer), estimate, options) };
      },
    };
  },
};

/**
 * Reads results under either name of the score, in any order. Some servers ignore `top_n`.
 * @throws ApiError `invalid_upstream_response`
 */
export function readRanking(results: unknown, count: number, most: number): RankedDocument[] {
  if (!Array.isArray(results)) throw unusable('has no results');
  if (results.length < Math.min(count, most) || results.length > count)
    throw unusable(`has ${results.length} results for ${count} documents`);
  const seen = new Set<unknown>();
  const ranked = results.map((item): RankedDocument => {
    const { index, relevance_score: relevance, score = relevance } = fieldsOf(item);
    const isIndex = Number.isInteger(index) && (index as number) >= 0 && (index as number) < count;
    if (!isIndex || seen.has(index)) throw unusable('has invalid indexes of documents');
    if (!Number.isFinite(score)) throw unusable('has a score that is not a number');
    seen.add(index);
    return { index: index as number, score: score as number };
  });
  return ranked.toSorted((a, b) => b.score - a.score);
}

/** Usage of the whole answer (vLLM, llama-server, Jina), in its `meta` (Cohere) or of each result (SGLang). */
export function usageOf({ usage, meta, results }: Fields): unknown {
  const { input_tokens: input } = fieldsOf(fieldsOf(meta)['tokens']);
  if (usage !== undefined || input !== undefined) return usage ?? { prompt_tokens: input };
  let tokens = 0;
  for (const item of results as unknown[]) {
    const { prompt_tokens: each } = fieldsOf(fieldsOf(item)['meta_info']);
    if (typeof each !== 'number') return undefined;
    tokens += each;
  }
  return { prompt_tokens: tokens };
}
