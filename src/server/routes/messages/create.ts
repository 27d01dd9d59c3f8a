import { answerWhole } from '../../../generate/answer-whole.ts';
import type { ChatChunks } from '../../../wire/chat/chat.ts';
import { askedMessage } from '../../../wire/messages/asked-message.ts';
import { nativeMessage } from '../../../wire/messages/native.ts';
import { parseMessagesRequest } from '../../../wire/messages/request.ts';
import { messagesRequestSchema } from '../../../wire/messages/request-schema.ts';
import { messageSchema } from '../../../wire/messages/response-schema.ts';
import { messageErrorEvent } from '../../../wire/messages/sse.ts';
import { events, json, jsonText } from '../../answer.ts';
import { messageEvents, nativeEvents } from '../../message-events.ts';
import type { Route } from '../../route.ts';

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
    const asked = askedMessage(parseMessagesRequest(body.text), body.text);
    const { chat, native, moved } = asked;
    const call = { caller, requestId, signal, answers };
    if (!chat.stream) {
      const message = await answerWhole(generate, asked, call);
      return typeof message === 'string' ? jsonText(200, message) : json(200, message);
    }
    if (native && generate.goesNatively('messages', chat, caller)) {
      const request = { request: native.request(), chat };
      const lists = generate.nativeStream('messages', request, call, nativeMessage);
      return events(nativeEvents(lists, moved), (error) => messageErrorEvent(error, requestId));
    }
    // Whatever makes counting impossible ends the stream as well, and says so better.
    const inputTokens = generate.countTokens(chat, call).catch(() => 0);
    const chunks = withPlaces(generate.chatStream(asked.request(), call), moved);
    return events(messageEvents(chunks, inputTokens, asked.options), (error) =>
      messageErrorEvent(error, requestId),
    );
  },
};

async function* withPlaces(chunks: ChatChunks, moved: (error: unknown) => unknown): ChatChunks {
  try {
    yield* chunks;
  } catch (error) {
    throw moved(error);
  }
}
