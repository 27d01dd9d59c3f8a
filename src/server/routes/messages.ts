import { answerWhole } from '../../generate/answer-whole.ts';
import type { ChatChunks } from '../../wire/chat/chat.ts';
import { askedMessage } from '../../wire/messages/answer/asked-message.ts';
import { nativeMessage } from '../../wire/messages/answer/native.ts';
import { parseCountTokensRequest, parseMessagesRequest } from '../../wire/messages/request/request.ts';
import {
  countTokensRequestSchema,
  messagesRequestSchema,
} from '../../wire/messages/request/request-schema.ts';
import { messageSchema, tokenCountSchema } from '../../wire/messages/answer/response-schema.ts';
import { messageErrorEvent } from '../../wire/messages/stream/sse.ts';
import { toChatRequest } from '../../wire/messages/request/to-chat-request.ts';
import { movedError } from '../../wire/places.ts';
import { type Answer, events, json, jsonText } from '../answer.ts';
import { messageEvents, nativeEvents } from '../message-events.ts';
import { callOf, type Incoming, type Services } from '../route.ts';
import { routesOf } from './routes-of.ts';

export const messageRoutes = routesOf({ access: 'inference', tag: 'Generation' }, [
  {
    on: 'POST /v1/messages',
    name: 'Messages',
    summary: 'Generate one message; with stream: true as server-sent events',
    body: messagesRequestSchema,
    answer: messageSchema,
    handle: create,
  },
  {
    on: 'POST /v1/messages/count_tokens',
    name: 'Count Tokens',
    summary: 'Count the tokens of a messages request; estimated from its bytes where the engine cannot tell',
    body: countTokensRequestSchema,
    answer: tokenCountSchema,
    async handle({ body, caller, signal }, { generate }) {
      const { chat, places } = toChatRequest(parseCountTokensRequest(body.text));
      const tokens = await generate.countTokens(chat, { caller, signal }).catch((error: unknown) => {
        throw movedError(error, chat, places);
      });
      return json(200, { input_tokens: tokens });
    },
  },
]);

/** As it is where its engine takes messages, else as a chat completion. */
async function create(incoming: Incoming, { generate }: Services): Promise<Answer> {
  const { body, caller, requestId } = incoming;
  const asked = askedMessage(parseMessagesRequest(body.text), body.text);
  const { chat, native, moved } = asked;
  const call = callOf(incoming);
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
}

async function* withPlaces(chunks: ChatChunks, moved: (error: unknown) => unknown): ChatChunks {
  try {
    yield* chunks;
  } catch (error) {
    throw moved(error);
  }
}
