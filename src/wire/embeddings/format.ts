import { estimateTexts } from '../chat/request/estimate-prompt.ts';
import type { DirectFormat } from '../shared/direct-format.ts';
import type { Embeddings, EmbeddingsRequest } from './embeddings.ts';
import { checkEmbeddingsRequest, embeddingsRequestSchema } from './request.ts';
import { embeddingsResponse, embeddingsResponseSchema } from './response.ts';

export const embeddingsFormat: DirectFormat<EmbeddingsRequest, Embeddings> = {
  endpoint: '/v1/embeddings',
  name: 'Embeddings',
  summary: 'Compute embedding vectors of texts',
  requestSchema: embeddingsRequestSchema,
  responseSchema: embeddingsResponseSchema,
  check: checkEmbeddingsRequest,
  smallest: { input: 'a' },
  inputTokens: ({ input }) => estimateTexts(input),
  presenter: ({ encoding_format: format }) => {
    return (result, { model }) => embeddingsResponse(result, model, format);
  },
};
