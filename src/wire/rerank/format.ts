import { sum } from '../../base/sum.ts';
import { estimateText } from '../chat/request/estimate-prompt.ts';
import type { DirectFormat } from '../shared/direct-format.ts';
import { scoringEngineFields } from '../schema/engine-fields.ts';
import * as t from '../schema/schema.ts';
import { validator } from '../schema/validate.ts';
import { serviceTierField } from '../shared/service-tier.ts';
import { documentText, type Ranking, type RerankRequest } from './rerank.ts';

/** As at Cohere. */
const maxDocuments = 10_000;

const filled = t.string({ minLength: 1 });

const requestSchema = t.object(
  {
    model: t.requestedModel,
    query: filled,
    documents: t.array(
      {
        type: ['string', 'object'],
        expected: 'a string or an object with text',
        minLength: 1,
        ...t.fields({ text: filled }),
      },
      { minItems: 1, maxItems: maxDocuments, description: 'Texts, or objects with a text.' },
    ),
    'top_n?': t.integerOrNull({ minimum: 1, description: 'Number of results; all if absent.' }),
    'return_documents?': t.booleanOrNull({ description: 'False for results without the documents.' }),
    ...serviceTierField,
  },
  {
    title: 'RerankRequest',
    ...t.known('user rank_fields max_chunks_per_doc instruct raw_scores', ...scoringEngineFields),
  },
);

const responseSchema = t.object(
  {
    id: t.string({ pattern: '^rerank_' }),
    object: t.literal('list'),
    model: t.servedModel,
    results: t.array(
      t.object({
        index: t.integer({ description: 'Position of the document in the request.' }),
        relevance_score: t.number({ description: 'Its scale depends on the model.' }),
        'document?': t.object({ text: t.string() }),
      }),
      { description: 'The most relevant document first.' },
    ),
    usage: t.object({ prompt_tokens: t.integer(), total_tokens: t.integer() }),
  },
  { title: 'Ranking' },
);

export const rerankFormat: DirectFormat<RerankRequest, Ranking> = {
  endpoint: '/v1/rerank',
  name: 'Rerank',
  summary: 'Order documents by their relevance to a query',
  requestSchema,
  responseSchema,
  check: validator(requestSchema),
  smallest: { query: 'a', documents: ['a'] },
  /** A model reads the query with each document. */
  inputTokens: ({ query, documents }) =>
    documents.length * estimateText(query) +
    sum(documents.map((document) => estimateText(documentText(document)))),
  idPrefix: 'rerank_',
  presenter({ documents, top_n: most, return_documents: returns }) {
    const returned = returns === false ? undefined : documents;
    return ({ ranked, promptTokens }, { id, model }) => ({
      id,
      object: 'list',
      model,
      results: ranked.slice(0, most ?? undefined).map(({ index, score }) => ({
        index,
        relevance_score: score,
        ...(returned && { document: { text: documentText(returned[index]!) } }),
      })),
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    });
  },
};
