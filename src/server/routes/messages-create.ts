import type { ChatChunks } from '../../wire/chat/chat.ts';
import { fromChatResponse } from '../../wire/messages/from-chat-response.ts';
import { nativeMessage } from '../../wire/messages/native.ts';
import { parseMessagesRequest } from '../../wire/messages/request.ts';
import { messagesRequestSchema } from '../../wire/messages/request-schema.ts';
import { messageSchema } from '../../wire/messages/response-schema.ts';
import { hasOurMark } from '../../wire/messages/signature.ts';
import { messageErrorEvent } from '../../wire/messages/sse.ts';
import { type ConvertedRequest, toChatRequest } from '../../wire/messages/to-chat-request.ts';
import { movedError } from '../../wire/places.ts';
import { events, json, jsonText } from '../answer.ts';
import { messageEvents, nativeEvents } from '../message-events.ts';
import type { Route } from '../route.ts';

/** `POST /v1/messages`, plain or as a stream: as it is where its engine takes messages, else a chat completion. */
export const createMessage: Route = {
  method: 'POST',
  path: '/v1/messages',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Messages',
    summary: 'Generate one message; with stream: true as server-sent events',
    tag: 'Generation',
    body: messagesRequestSchema,
    answer: { status: 200, type: 'application/json', schema: messageSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { generate }) {
    const asked = parseMessagesRequest(body.text);
    const converted = toChatRequest(asked);
    const { chat, places } = converted;
    const call = { caller, requestId, signal, answers };
    if (!hasOurMark(body.text) && generate.goesNatively('messages', chat, caller)) {
      const native = { request: { value: asked, text: body.text }, chat };
      const moved = (error: unknown) => movedError(error, chat, places);
      if (!chat.stream)
        return jsonText(
          200,
          await generate.native('messages', native, call, nativeMessage).catch(rethrown(moved)),
        );
      const lists = generate.nativeStream('messages', native, call, nativeMessage);
      return events(nativeEvents(lists, moved), (error) => messageErrorEvent(error, requestId));
    }
    const request = { value: chat, text: JSON.stringify(chat) };
    const options = { hidesThinking: asked.thinking?.display === 'omitted' };
    if (!chat.stream) {
      const response = await generate.chat(request, call).catch((error: unknown) => {
        throw movedError(error, chat, places);
      });
      return json(200, fromChatResponse(response, options));
    }
    // Whatever makes counting impossible ends the stream as well, and says so better.
    const inputTokens = generate.countTokens(chat, call).catch(() => 0);
    const chunks = withPlaces(generate.chatStream(request, call), converted);
    return events(messageEvents(chunks, inputTokens, options), (error) =>
      messageErrorEvent(error, requestId),
    );
  },
};

function rethrown(moved: (error: unknown) => unknown): (error: unknown) => never {
  return (error) => {
    throw moved(error);
  };
}

async function* withPlaces(chunks: ChatChunks, { chat, places }: ConvertedRequest): ChatChunks {
  try {
    yield* chunks;
  } catch (error) {
    throw movedError(error, chat, places);
  }
}
