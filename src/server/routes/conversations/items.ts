import {
  conversationSchema,
  createItemsSchema,
  parseConversation,
} from '../../../wire/conversations/conversation.ts';
import { listBody } from '../../../wire/list.ts';
import { parseItemsQuery } from '../../../wire/items-page.ts';
import { inputItemSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import { pageOf } from '../../openapi/answer-schemas.ts';
import { inputItemsQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

const all = {
  path: '/v1/conversations/:conversation_id/items',
  access: 'inference',
  id: { prefix: 'conv_', what: 'conversation' },
} as const;
const one = { ...all, path: '/v1/conversations/:conversation_id/items/:item_id' } as const;
const answer = { status: 200, type: 'application/json' } as const;

/** `POST /v1/conversations/{conversation_id}/items`. */
export const createConversationItems: Route = {
  ...all,
  method: 'POST',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Create Conversation Items',
    summary: 'Add up to 20 items, all of them or none',
    tag: 'Conversations',
    body: createItemsSchema,
    answer: { ...answer, schema: pageOf(inputItemSchema) },
  },
  async handle({ body, caller, param }, { responses: { conversations } }) {
    await conversations.get(caller, param);
    const { items } = parseConversation(body.text, 'items');
    const added = await conversations.addItems(caller, param, items, Buffer.byteLength(body.text));
    return json(200, listBody(added, false));
  },
};

/** `GET /v1/conversations/{conversation_id}/items`. */
export const listConversationItems: Route = {
  ...all,
  method: 'GET',
  docs: {
    name: 'List Conversation Items',
    summary: 'What was said in a conversation',
    tag: 'Conversations',
    query: inputItemsQuery,
    answer: { ...answer, schema: pageOf(inputItemSchema) },
  },
  async handle({ caller, param, query, signal }, { responses: { conversations } }) {
    const page = await conversations.items(caller, param, parseItemsQuery(query, 'desc'), signal);
    return json(200, listBody(page.items, page.hasMore));
  },
};

/** `GET /v1/conversations/{conversation_id}/items/{item_id}`. */
export const getConversationItem: Route = {
  ...one,
  method: 'GET',
  docs: {
    name: 'Retrieve Conversation Item',
    summary: 'One item of a conversation',
    tag: 'Conversations',
    answer: { ...answer, schema: inputItemSchema },
  },
  handle: async ({ caller, param, second }, { responses }) =>
    json(200, await responses.conversations.item(caller, param, second)),
};

/** `DELETE /v1/conversations/{conversation_id}/items/{item_id}`. */
export const deleteConversationItem: Route = {
  ...one,
  method: 'DELETE',
  docs: {
    name: 'Delete Conversation Item',
    summary: 'Take an item out of a conversation',
    tag: 'Conversations',
    answer: { ...answer, schema: conversationSchema },
  },
  handle: async ({ caller, param, second }, { responses }) =>
    json(200, await responses.conversations.removeItem(caller, param, second)),
};
