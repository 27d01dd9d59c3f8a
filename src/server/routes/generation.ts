import { directKinds } from '../../core/model.ts';
import { chatEvents } from '../../wire/chat/stream/sse.ts';
import { parseCompletionsRequest } from '../../wire/completions/request.ts';
import { completionsRequestSchema } from '../../wire/completions/request-schema.ts';
import { completionsResponseSchema } from '../../wire/completions/response-schema.ts';
import { chatErrorEvent } from '../../wire/errors/error-events.ts';
import { events, json } from '../answer/answer.ts';
import { reportFields } from '../request/report-fields.ts';
import { interactiveCall } from '../route.ts';
import { defineRoutes } from './define-routes.ts';
import { directRoute } from './direct-route.ts';

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
  ...directKinds.map(directRoute),
]);
