import type { ChatChunks, ChatResponse } from '../../wire/chat/chat.ts';
import { Folding } from '../../wire/chat/fold-chunks.ts';
import { presentChat, toFunctionsChunk } from '../../wire/chat/function-answer.ts';
import { keptMetadata } from '../../wire/chat/kept.ts';
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
  async handle({ body, caller, requestId, signal, answers }, { generate, responses }) {
    const { body: request, places, hasFunctions } = parseChatRequest(body.text);
    const call = { caller, requestId, signal, answers };
    const moved = (error: unknown) => movedError(error, request.value, places);
    const metadata = keptMetadata(request.value);
    const { messages } = request.value;
    const asked = metadata && { messages, metadata, bytes: Buffer.byteLength(body.text) };
    const place = asked && (await responses.chats.reserve(caller, asked));
    const kept = (response: ChatResponse) => place?.keep(presentChat(response, hasFunctions) as ChatResponse);
    if (request.value.stream) {
      const includeUsage = request.value.stream_options?.include_usage === true;
      const present = hasFunctions ? toFunctionsChunk : undefined;
      const lists = generate.chatStream(request, call);
      const chunks = chatEvents(place ? keeping(lists, kept, place.leave) : lists, {
        includeUsage,
        present,
        moved,
      });
      return events(chunks, chatErrorEvent);
    }
    try {
      const response = await generate.chat(request, call);
      await kept(response);
      return json(200, presentChat(response, hasFunctions));
    } catch (error) {
      throw moved(error);
    } finally {
      place?.leave();
    }
  },
};

/** Passes chunks on, and keeps the whole before the stream says that it is over. */
async function* keeping(
  lists: ChatChunks,
  keep: (response: ChatResponse) => Promise<void> | undefined,
  leave: () => void,
): ChatChunks {
  const folding = new Folding();
  try {
    for await (const chunks of lists) {
      folding.add(chunks);
      yield chunks;
    }
    await keep(folding.whole());
  } finally {
    leave();
  }
}
