import {
  deletedChatSchema,
  keptMessages,
  keptMessageSchema,
  parseChatList,
  parseChatUpdate,
  updateChatSchema,
} from '../../../wire/chat/kept.ts';
import { chatResponseSchema } from '../../../wire/chat/response-schema.ts';
import { pageOfItems, parseItemsQuery } from '../../../wire/items-page.ts';
import { listBody } from '../../../wire/list.ts';
import { json } from '../../answer.ts';
import { pageOf } from '../../openapi/answer-schemas.ts';
import { chatListQuery, chatMessagesQuery } from '../../openapi/query-schemas.ts';
import { type Route, smallBody } from '../../route.ts';

const one = {
  path: '/v1/chat/completions/:completion_id',
  access: 'inference',
  id: { prefix: 'chatcmpl_', what: 'chat completion' },
} as const;
const tag = 'Chat Completions';
const answer = { status: 200, type: 'application/json', schema: chatResponseSchema } as const;

/** `GET /v1/chat/completions`. */
export const listChats: Route = {
  method: 'GET',
  path: '/v1/chat/completions',
  access: 'inference',
  docs: {
    name: 'List Chat Completions',
    summary: 'Chat completions that were made with store: true',
    tag,
    query: chatListQuery,
    answer: { ...answer, schema: pageOf(chatResponseSchema) },
  },
  async handle({ caller, query, signal }, { responses }) {
    const { data, hasMore } = await responses.chats.list(caller, parseChatList(query), signal);
    return json(200, listBody(data, hasMore));
  },
};

/** `GET /v1/chat/completions/{completion_id}`. */
export const getChat: Route = {
  ...one,
  method: 'GET',
  docs: { name: 'Retrieve Chat Completion', summary: 'One that was made with store: true', tag, answer },
  handle: async ({ caller, param }, { responses }) => json(200, await responses.chats.get(caller, param)),
};

/** `GET /v1/chat/completions/{completion_id}/messages`. */
export const listChatMessages: Route = {
  ...one,
  path: `${one.path}/messages`,
  method: 'GET',
  docs: {
    name: 'List Chat Messages',
    summary: 'What a stored chat completion was asked',
    tag,
    query: chatMessagesQuery,
    answer: { ...answer, schema: pageOf(keptMessageSchema) },
  },
  async handle({ caller, param, query, signal }, { responses }) {
    const messages = await responses.chats.messages(caller, param, signal);
    const { items, hasMore } = pageOfItems(keptMessages(param, messages), parseItemsQuery(query, 'asc'));
    return json(200, listBody(items, hasMore));
  },
};

/** `POST /v1/chat/completions/{completion_id}`. */
export const updateChat: Route = {
  ...one,
  method: 'POST',
  body: smallBody,
  docs: {
    name: 'Update Chat Completion',
    summary: 'Replace the metadata of a stored one',
    tag,
    body: updateChatSchema,
    answer,
  },
  async handle({ body, caller, param }, { responses: { chats } }) {
    await chats.get(caller, param);
    return json(200, await chats.update(caller, param, parseChatUpdate(body.text)));
  },
};

/** `DELETE /v1/chat/completions/{completion_id}`. */
export const deleteChat: Route = {
  ...one,
  method: 'DELETE',
  docs: {
    name: 'Delete Chat Completion',
    summary: 'Forget a stored one',
    tag,
    answer: { ...answer, schema: deletedChatSchema },
  },
  async handle({ caller, param }, { responses }) {
    await responses.chats.remove(caller, param);
    return json(200, { id: param, object: 'chat.completion.deleted', deleted: true });
  },
};
