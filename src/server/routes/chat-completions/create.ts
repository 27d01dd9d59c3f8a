import type { ChatResponse } from '../../../wire/chat/chat.ts';
import { presentChat, toFunctionsChunk } from '../../../wire/chat/function-answer.ts';
import { keptMetadata } from '../../../wire/chat/kept.ts';
import { parseChatRequest } from '../../../wire/chat/request.ts';
import { chatRequestSchema } from '../../../wire/chat/request-schema.ts';
import { chatResponseSchema } from '../../../wire/chat/response-schema.ts';
import { chatErrorEvent } from '../../../wire/chat/sse.ts';
import { movedError } from '../../../wire/places.ts';
import { events, json } from '../../answer.ts';
import { chatEvents } from '../../chat-events.ts';
import type { Route } from '../../route.ts';

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
  async handle({ body, caller, requestId, signal, answers }, { generate, responses }) {
    const { body: request, places, hasFunctions } = parseChatRequest(body.text);
    const call = { caller, requestId, signal, answers };
    const moved = (error: unknown) => movedError(error, request.value, places);
    const metadata = keptMetadata(request.value);
    const { messages } = request.value;
    const present = (response: ChatResponse) => presentChat(response, hasFunctions);
    const asked = metadata && { messages, metadata, bytes: Buffer.byteLength(body.text), present };
    const place = asked && (await responses.chats.reserve(caller, asked));
    if (request.value.stream) {
      const includeUsage = request.value.stream_options?.include_usage === true;
      const lists = generate.chatStream(request, call);
      const chunks = chatEvents(place?.streamed(lists) ?? lists, {
        includeUsage,
        present: hasFunctions ? toFunctionsChunk : undefined,
        moved,
      });
      return events(chunks, chatErrorEvent);
    }
    try {
      const answer = () => generate.chat(request, call);
      return json(200, present(await (place ? place.answered(answer) : answer())));
    } catch (error) {
      throw moved(error);
    }
  },
};
