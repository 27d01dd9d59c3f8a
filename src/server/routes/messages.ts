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
import { replayMessage } from '../../wire/messages/stream/replay.ts';
import { createMessageEncoder } from '../../wire/messages/stream/stream-encoder.ts';
import { toChatRequest } from '../../wire/messages/request/to-chat-request.ts';
import { messageErrorEvent } from '../../wire/errors/error-events.ts';
import { remapError } from '../../wire/shared/path-map.ts';
import { requestedTier } from '../../wire/shared/service-tier.ts';
import { typedEvent } from '../../wire/shared/sse.ts';
import { type Answer, events, json, jsonText } from '../answer/answer.ts';
import { answerFlex } from './flex.ts';
import { reportFields } from '../request/report-fields.ts';
import { interactiveCall, type Incoming, type Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const messageRoutes = defineRoutes({ access: 'inference', tag: 'Generation' }, [
  {
    on: 'POST /v1/messages',
    name: 'Messages',
    summary: 'Generate a message, with stream: true as server-sent events',
    body: messagesRequestSchema,
    answer: messageSchema,
    handle: create,
  },
  {
    on: 'POST /v1/messages/count_tokens',
    name: 'Count Tokens',
    summary: 'Count the tokens of a messages request, or estimate them where the engine cannot count',
    body: countTokensRequestSchema,
    answer: tokenCountSchema,
    async handle(incoming, services) {
      const { body, caller, signal } = incoming;
      const parsed = parseCountTokensRequest(body.text, reportFields(services, incoming));
      const { chat, paths } = toChatRequest(parsed);
      const tokens = await services.inference
        .countTokens(chat, { caller, signal })
        .catch((error: unknown) => {
          throw remapError(error, chat, paths);
        });
      return json(200, { input_tokens: tokens });
    },
  },
]);

/** Sends the request unchanged to an engine with native messages, otherwise as a chat completion. */
async function create(incoming: Incoming, services: Services): Promise<Answer> {
  const { body, caller, requestId, headers } = incoming;
  const { inference } = services;
  const parsed = parseMessagesRequest(body.text, reportFields(services, incoming));
  const broken = (error: unknown) => messageErrorEvent(error, requestId);
  if (requestedTier(parsed, caller.serviceTier) === 'flex')
    return answerFlex(incoming, services, {
      endpoint: '/v1/messages',
      body: { value: parsed, text: body.text },
      metadata: parsed.metadata,
      ...(parsed.stream && { stream: { toEvents: replayMessage, failed: broken } }),
    });
  const asked = prepareMessage(parsed, body.text, 'standard');
  const { chat, native, mapError } = asked;
  const betas = [headers['anthropic-beta'] ?? []].flat().join(',');
  const call = { ...interactiveCall(incoming, parsed.metadata), betas };
  if (!chat.stream) {
    const message = await runRequest(inference, asked, call);
    return typeof message === 'string' ? jsonText(200, message) : json(200, message);
  }
  if (native && inference.goesNatively('messages', chat, caller)) {
    const request = { request: native.request(), chat };
    const lists = inference.nativeStream('messages', request, call, nativeMessageEvent);
    return events(
      mapStream(lists, mapError, (list) => list.join('')),
      broken,
    );
  }
  // An error that prevents counting also ends the stream, with a better message.
  const inputTokens = inference.countTokens(chat, call).catch(() => 0);
  const chunks = mapStream(inference.chatStream(asked.request(), call), mapError, (list) => list);
  return events(messageEvents(chunks, inputTokens, asked.options), broken);
}

/**
 * Events of a message, from a chat stream.
 * @param inputTokens count for the first event, used when the engine does not report it
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

/** Maps the items of a stream, and its error to one that names the fields of the client's own request. */
async function* mapStream<T, Mapped>(
  items: AsyncIterable<T>,
  toClientError: (error: unknown) => unknown,
  map: (item: T) => Mapped,
): AsyncGenerator<Mapped> {
  try {
    for await (const item of items) yield map(item);
  } catch (error) {
    throw toClientError(error);
  }
}
