import type { ChatResponse } from '../../wire/chat/chat.ts';
import { chunkPresenter, presentChat } from '../../wire/chat/answer/present.ts';
import {
  deletedChatSchema,
  presentStoredMessages,
  storedMessageSchema,
  storedMetadata,
  parseChatList,
  parseChatUpdate,
  updateChatSchema,
} from '../../wire/chat/stored-chat.ts';
import type { ChatBody } from '../../wire/chat/request/body.ts';
import { parseChatRequest } from '../../wire/chat/request/request.ts';
import { chatRequestSchema } from '../../wire/chat/request/request-schema.ts';
import { chatResponseSchema } from '../../wire/chat/answer/response-schema.ts';
import { replayChat } from '../../wire/chat/stream/replay.ts';
import { chatEvents } from '../../wire/chat/stream/sse.ts';
import { chatErrorEvent } from '../../wire/errors/error-events.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { pageOfItems, listBody } from '../../wire/shared/list-body.ts';
import { parseItemsQuery } from '../../wire/shared/query-params.ts';
import { tokenCountSchema } from '../../wire/messages/answer/response-schema.ts';
import { remapError } from '../../wire/shared/path-map.ts';
import { requestedTier } from '../../wire/shared/service-tier.ts';
import { type Answer, events, json } from '../answer/answer.ts';
import { answerFlex } from './flex.ts';
import { listAnswer } from '../answer/list-answer.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { chatListQuery, chatMessagesQuery } from '../openapi/query-schemas.ts';
import { reportFields } from '../request/report-fields.ts';
import { interactiveCall, type Incoming, type Services } from '../route.ts';
import { smallBody, defineRoutes } from './define-routes.ts';

export const chatRoutes = defineRoutes({ access: 'inference', tag: 'Chat Completions' }, [
  {
    on: 'POST /v1/chat/completions',
    name: 'Chat Completions',
    summary: 'Generate an answer, with stream: true as server-sent events',
    tag: 'Generation',
    body: chatRequestSchema,
    answer: chatResponseSchema,
    handle: create,
  },
  {
    // Same path as in llama-server.
    on: 'POST /v1/chat/completions/input_tokens',
    name: 'Count Chat Tokens',
    summary: 'Count the tokens of a chat request, or estimate them where the engine cannot count',
    tag: 'Generation',
    body: chatRequestSchema,
    answer: tokenCountSchema,
    async handle(incoming, services) {
      const { body, caller, signal } = incoming;
      const { body: request, paths } = parseChatRequest(body.text, reportFields(services, incoming));
      const tokens = await services.inference
        .countTokens(request.value, { caller, signal })
        .catch((error: unknown) => {
          throw remapError(error, request.value, paths);
        });
      return json(200, { input_tokens: tokens });
    },
  },
  {
    on: 'GET /v1/chat/completions',
    name: 'List Chat Completions',
    summary: 'List chat completions that were created with store: true',
    query: chatListQuery,
    answer: pageOf(chatResponseSchema),
    handle: ({ caller, query, signal }, { responses }) =>
      listAnswer(responses.chats.list(caller, parseChatList(query), signal), {
        present: (chat) => chat,
        owner: caller.orgId,
      }),
  },
  {
    on: 'GET /v1/chat/completions/:completion_id',
    name: 'Retrieve Chat Completion',
    summary: 'Get a chat completion that was created with store: true',
    answer: chatResponseSchema,
    handle: async ({ caller, param }, { responses }) => json(200, await responses.chats.get(caller, param)),
  },
  {
    on: 'GET /v1/chat/completions/:completion_id/messages',
    name: 'List Chat Messages',
    summary: 'List the messages of the request of a stored chat completion',
    query: chatMessagesQuery,
    answer: pageOf(storedMessageSchema),
    async handle({ caller, param, query, signal }, { responses }) {
      const all = presentStoredMessages(param, await responses.chats.messages(caller, param, signal));
      const { items, hasMore } = pageOfItems(all, parseItemsQuery(query, 'asc'));
      return json(200, listBody(items, hasMore));
    },
  },
  {
    on: 'POST /v1/chat/completions/:completion_id',
    name: 'Update Chat Completion',
    summary: 'Replace the metadata of a stored chat completion',
    body: updateChatSchema,
    maxBytes: smallBody,
    answer: chatResponseSchema,
    async handle({ body, caller, param }, { responses: { chats } }) {
      await chats.get(caller, param);
      return json(200, await chats.update(caller, param, parseChatUpdate(body.text)));
    },
  },
  {
    on: 'DELETE /v1/chat/completions/:completion_id',
    name: 'Delete Chat Completion',
    summary: 'Delete a stored chat completion',
    answer: deletedChatSchema,
    async handle({ caller, param }, { responses }) {
      await responses.chats.remove(caller, param);
      return json(200, { id: param, object: 'chat.completion.deleted', deleted: true });
    },
  },
]);

/** Tier of requests that an engine answers at once. */
const tier = 'default';

async function create(incoming: Incoming, services: Services): Promise<Answer> {
  const { body, caller } = incoming;
  const { inference, responses } = services;
  const parsed = parseChatRequest(body.text, reportFields(services, incoming));
  const { body: request, paths, calls } = parsed;
  if (requestedTier(request.value, caller.serviceTier) === 'flex')
    return createFlex(incoming, services, parsed.received);
  const call = interactiveCall(incoming, request.value.metadata);
  const mapError = (error: unknown) => remapError(error, request.value, paths);
  const metadata = storedMetadata(request.value);
  const { messages } = request.value;
  const present = (response: ChatResponse) => ({ ...presentChat(response, calls), service_tier: tier });
  const asked = metadata && { messages, metadata, bytes: Buffer.byteLength(body.text), present };
  const place = asked && (await responses.chats.reserve(caller, asked));
  if (request.value.stream) {
    const includeUsage = request.value.stream_options?.include_usage === true;
    const lists = inference.chatStream(request, call);
    const chunks = chatEvents(place?.streamed(lists) ?? lists, {
      includeUsage,
      tier,
      present: chunkPresenter(calls),
      mapError,
    });
    return events(chunks, chatErrorEvent);
  }
  try {
    const answer = () => inference.chat(request, call);
    return json(200, present(await (place ? place.answered(answer) : answer())));
  } catch (error) {
    throw mapError(error);
  }
}

async function createFlex(incoming: Incoming, services: Services, body: JsonBody<ChatBody>): Promise<Answer> {
  const { stream, stream_options: options, metadata } = body.value;
  const isStored = storedMetadata(body.value) !== undefined;
  const bytes = Buffer.byteLength(body.text);
  const release = isStored ? await services.responses.chats.reserveBytes(incoming.caller, bytes) : undefined;
  const toEvents = (answer: string) => replayChat(answer, options?.include_usage === true);
  return answerFlex(incoming, services, {
    endpoint: '/v1/chat/completions',
    body,
    metadata,
    ...(stream && { stream: { toEvents, failed: chatErrorEvent } }),
    ...(release && { release }),
  });
}
