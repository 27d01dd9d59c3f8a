import { presentChat, toFunctionsChunk } from '../../wire/chat/function-answer.ts';
import { parseChatRequest } from '../../wire/chat/request.ts';
import { chatRequestSchema } from '../../wire/chat/request-schema.ts';
import { chatResponseSchema } from '../../wire/chat/response-schema.ts';
import { chatErrorEvent } from '../../wire/chat/sse.ts';
import { movedError } from '../../wire/places.ts';
import { events, json } from '../answer.ts';
import { chatEvents } from '../chat-events.ts';
import type { Route } from '../route.ts';

/** `POST /v1/chat/completions`, plain or as a stream. */
export const createChatCompletion: Route = {
  method: 'POST',
  path: '/v1/chat/completions',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Chat Completions',
    summary: 'Generate one answer; with stream: true as server-sent events',
    tag: 'Generation',
    body: chatRequestSchema,
    answer: { status: 200, type: 'application/json', schema: chatResponseSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { generate }) {
    const { body: request, places, hasFunctions } = parseChatRequest(body.text);
    const call = { caller, requestId, signal, answers };
    const moved = (error: unknown) => movedError(error, request.value, places);
    if (request.value.stream) {
      const includeUsage = request.value.stream_options?.include_usage === true;
      const present = hasFunctions ? toFunctionsChunk : undefined;
      const chunks = chatEvents(generate.chatStream(request, call), { includeUsage, present, moved });
      return events(chunks, chatErrorEvent);
    }
    const response = await generate.chat(request, call).catch((error: unknown) => {
      throw moved(error);
    });
    return json(200, presentChat(response, hasFunctions));
  },
};
