import { parseEmbeddingsRequest } from '../../wire/embeddings/request.ts';
import { embeddingsRequestSchema } from '../../wire/embeddings/schema.ts';
import { json } from '../answer.ts';
import { embeddingsSchema } from '../openapi/answer-schemas.ts';
import type { Route } from '../route.ts';

/** `POST /v1/embeddings`. */
export const createEmbeddings: Route = {
  method: 'POST',
  path: '/v1/embeddings',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Embeddings',
    summary: 'Turn texts into vectors',
    tag: 'Generation',
    body: embeddingsRequestSchema,
    answer: { status: 200, type: 'application/json', schema: embeddingsSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { generate }) {
    const request = parseEmbeddingsRequest(body.text);
    const response = await generate.embeddings(request, { caller, requestId, signal, answers });
    return json(200, response);
  },
};
