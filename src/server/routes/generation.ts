import { chatEvents } from '../../wire/chat/stream/sse.ts';
import { parseCompletionsRequest } from '../../wire/completions/request.ts';
import { completionsRequestSchema } from '../../wire/completions/request-schema.ts';
import { completionsResponseSchema } from '../../wire/completions/response-schema.ts';
import { embeddingsRequestSchema, parseEmbeddingsRequest } from '../../wire/embeddings/request.ts';
import { chatErrorEvent } from '../../wire/errors/error-events.ts';
import { requestedTier } from '../../wire/shared/service-tier.ts';
import { events, json } from '../answer.ts';
import { embeddingsSchema } from '../openapi/answer-schemas.ts';
import { answerFlex } from '../flex.ts';
import { reportFields } from '../report-fields.ts';
import { interactiveCall } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const generationRoutes = defineRoutes({ access: 'inference', tag: 'Generation' }, [
  {
    on: 'POST /v1/completions',
    name: 'Completions',
    summary: 'Complete raw prompts without a chat template, with stream: true as server-sent events',
    body: completionsRequestSchema,
    answer: completionsResponseSchema,
    async handle(incoming, services) {
      const { inference } = services;
      const request = parseCompletionsRequest(incoming.body.text, reportFields(services, incoming));
      const call = interactiveCall(incoming);
      if (!request.value.stream) return json(200, await inference.completions(request, call));
      const includeUsage = request.value.stream_options?.include_usage === true;
      return events(chatEvents(inference.completionsStream(request, call), { includeUsage }), chatErrorEvent);
    },
  },
  {
    on: 'POST /v1/embeddings',
    name: 'Embeddings',
    summary: 'Compute embedding vectors of texts',
    body: embeddingsRequestSchema,
    answer: embeddingsSchema,
    async handle(incoming, services) {
      const request = parseEmbeddingsRequest(incoming.body.text, reportFields(services, incoming));
      if (requestedTier(request.value, incoming.caller.serviceTier) === 'flex')
        return answerFlex(incoming, services, { endpoint: '/v1/embeddings', body: request });
      return json(200, await services.inference.embeddings(request, interactiveCall(incoming)));
    },
  },
]);
