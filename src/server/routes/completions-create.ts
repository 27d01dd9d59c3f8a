import { chatErrorEvent } from '../../wire/chat/sse.ts';
import { parseCompletionsRequest } from '../../wire/completions/request.ts';
import { completionsRequestSchema } from '../../wire/completions/request-schema.ts';
import { completionsResponseSchema } from '../../wire/completions/response-schema.ts';
import { events, json } from '../answer.ts';
import { chatEvents } from '../chat-events.ts';
import type { Route } from '../route.ts';

/** `POST /v1/completions`, plain or as a stream. */
export const createCompletion: Route = {
  method: 'POST',
  path: '/v1/completions',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Completions',
    summary: 'Go on with raw prompts, without a chat template; with stream: true as server-sent events',
    tag: 'Generation',
    body: completionsRequestSchema,
    answer: { status: 200, type: 'application/json', schema: completionsResponseSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { generate }) {
    const request = parseCompletionsRequest(body.text);
    const call = { caller, requestId, signal, answers };
    if (request.value.stream) {
      const includeUsage = request.value.stream_options?.include_usage === true;
      return events(chatEvents(generate.completionsStream(request, call), { includeUsage }), chatErrorEvent);
    }
    return json(200, await generate.completions(request, call));
  },
};
