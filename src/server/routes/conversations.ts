import {
  conversationSchema,
  createConversationSchema,
  createItemsSchema,
  deletedConversationSchema,
  parseConversation,
  updateConversationSchema,
} from '../../wire/conversations/conversation.ts';
import { listBody } from '../../wire/shared/list-body.ts';
import { parseItemsQuery } from '../../wire/shared/query-params.ts';
import { inputItemSchema } from '../../wire/responses/answer/response-schema.ts';
import { json } from '../answer/answer.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { inputItemsQuery } from '../openapi/query-schemas.ts';
import { smallBody, defineRoutes } from './define-routes.ts';

export const conversationRoutes = defineRoutes({ access: 'inference', tag: 'Conversations' }, [
  {
    on: 'POST /v1/conversations',
    name: 'Create Conversation',
    summary: 'Create a conversation, which collects the items of the responses made in it',
    body: createConversationSchema,
    answer: conversationSchema,
    async handle({ body, caller }, { responses: { conversations } }) {
      const given = parseConversation(body.text, 'create');
      return json(200, await conversations.create(caller, given, Buffer.byteLength(body.text)));
    },
  },
  {
    on: 'GET /v1/conversations/:conversation_id',
    name: 'Retrieve Conversation',
    summary: 'Get a conversation',
    answer: conversationSchema,
    handle: async ({ caller, param }, { responses: { conversations } }) =>
      json(200, await conversations.get(caller, param)),
  },
  {
    on: 'POST /v1/conversations/:conversation_id',
    name: 'Update Conversation',
    summary: 'Replace the metadata of a conversation',
    body: updateConversationSchema,
    maxBytes: smallBody,
    answer: conversationSchema,
    async handle({ body, caller, param }, { responses: { conversations } }) {
      await conversations.get(caller, param);
      const { metadata } = parseConversation(body.text, 'update');
      return json(200, await conversations.update(caller, param, metadata));
    },
  },
  {
    on: 'DELETE /v1/conversations/:conversation_id',
    name: 'Delete Conversation',
    summary: 'Delete a conversation and its items. Its responses are kept',
    answer: deletedConversationSchema,
    async handle({ caller, param }, { responses: { conversations } }) {
      await conversations.remove(caller, param);
      return json(200, { id: param, object: 'conversation.deleted', deleted: true });
    },
  },
  {
    on: 'POST /v1/conversations/:conversation_id/items',
    name: 'Create Conversation Items',
    summary: 'Add up to 20 items to a conversation, all or none',
    body: createItemsSchema,
    answer: pageOf(inputItemSchema),
    async handle({ body, caller, param }, { responses: { conversations } }) {
      await conversations.get(caller, param);
      const { items } = parseConversation(body.text, 'items');
      const added = await conversations.addItems(caller, param, items, Buffer.byteLength(body.text));
      return json(200, listBody(added, false));
    },
  },
  {
    on: 'GET /v1/conversations/:conversation_id/items',
    name: 'List Conversation Items',
    summary: 'List the items of a conversation',
    query: inputItemsQuery,
    answer: pageOf(inputItemSchema),
    async handle({ caller, param, query, signal }, { responses: { conversations } }) {
      const page = await conversations.items(caller, param, parseItemsQuery(query, 'desc'), signal);
      return json(200, listBody(page.items, page.hasMore));
    },
  },
  {
    on: 'GET /v1/conversations/:conversation_id/items/:item_id',
    name: 'Retrieve Conversation Item',
    summary: 'Get an item of a conversation',
    answer: inputItemSchema,
    handle: async ({ caller, param, secondParam }, { responses: { conversations } }) =>
      json(200, await conversations.item(caller, param, secondParam)),
  },
  {
    on: 'DELETE /v1/conversations/:conversation_id/items/:item_id',
    name: 'Delete Conversation Item',
    summary: 'Delete an item of a conversation',
    answer: conversationSchema,
    handle: async ({ caller, param, secondParam }, { responses: { conversations } }) =>
      json(200, await conversations.removeItem(caller, param, secondParam)),
  },
]);
