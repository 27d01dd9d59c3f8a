import { runRequest } from '../../inference/run-request.ts';
import type { ChatChunks } from '../../wire/chat/chat.ts';
import type { AnswerOptions } from '../../wire/messages/answer/from-chat-response.ts';
import { prepareMessage, nativeMessageEvent } from '../../wire/messages/answer/prepare-message.ts';
import { parseCountTokensRequest, parseMessagesRequest } from '../../wire/messages/request/request.ts';
import {
  countTokensRequestSchema,
  messagesRequestSchema,
} from '../../wire/messages/request/request-schema.ts';
import { messageSchema, tokenCountSchema } from '../../wire/messages/answer/response-schema.ts';
import { createMessageEncoder } from '../../wire/messages/stream/stream-encoder.ts';
import { toChatRequest } from '../../wire/messages/request/to-chat-request.ts';
import { messageErrorEvent } from '../../wire/errors/error-events.ts';
import { remapError } from '../../wire/shared/path-map.ts';
import { typedEvent } from '../../wire/shared/sse.ts';
import { type Answer, events, json, jsonText } from '../answer.ts';
import { interactiveCall, type Incoming, type Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const messageRoutes = defineRoutes({ access: 'inference', tag: 'Generation' }, [
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
    async handle({ body, caller, signal }, { inference }) {
      const { chat, paths } = toChatRequest(parseCountTokensRequest(body.text));
      const tokens = await inference.countTokens(chat, { caller, signal }).catch((error: unknown) => {
        throw remapError(error, chat, paths);
      });
      return json(200, { input_tokens: tokens });
    },
  },
]);

/** As it is where its engine takes messages, else as a chat completion. */
async function create(incoming: Incoming, { inference }: Services): Promise<Answer> {
  const { body, caller, requestId, headers } = incoming;
  const asked = prepareMessage(parseMessagesRequest(body.text), body.text);
  const { chat, native, mapError } = asked;
  const betas = [headers['anthropic-beta'] ?? []].flat().join(',');
  const call = { ...interactiveCall(incoming), betas };
  if (!chat.stream) {
    const message = await runRequest(inference, asked, call);
    return typeof message === 'string' ? jsonText(200, message) : json(200, message);
  }
  const broken = (error: unknown) => messageErrorEvent(error, requestId);
  if (native && inference.goesNatively('messages', chat, caller)) {
    const request = { request: native.request(), chat };
    const lists = inference.nativeStream('messages', request, call, nativeMessageEvent);
    const texts = mapStream(lists, mapError, (list) => list.join(''));
    return events(texts, broken);
  }
  // Whatever makes counting impossible ends the stream as well, and says so better.
  const inputTokens = inference.countTokens(chat, call).catch(() => 0);
  const chunks = mapStream(inference.chatStream(asked.request(), call), mapError, (list) => list);
  return events(messageEvents(chunks, inputTokens, asked.options), broken);
}

/**
 * A chat stream as the events of a message.
 * @param inputTokens counted while the answer begins, for engines that do not tell: clients want the number in the first event
 */
async function* messageEvents(
  lists: ChatChunks,
  inputTokens: Promise<number>,
  options: AnswerOptions,
): AsyncGenerator<string> {
  let encoder;
  for await (const chunks of lists) {
    encoder ??= createMessageEncoder({ ...options, inputTokens: chunks[0]?.prompt ? 0 : await inputTokens });
    yield chunks
      .flatMap((chunk) => encoder.push(chunk))
      .map(typedEvent)
      .join('');
  }
  encoder ??= createMessageEncoder({ ...options, inputTokens: await inputTokens });
  yield encoder.end().map(typedEvent).join('');
}

/** What comes as it is told; what breaks it off in the places of the request as the client sent it. */
async function* mapStream<T, Told>(
  lists: AsyncIterable<T>,
  mapError: (error: unknown) => unknown,
  told: (list: T) => Told,
): AsyncGenerator<Told> {
  try {
    for await (const list of lists) yield told(list);
  } catch (error) {
    throw mapError(error);
  }
}
