import {
  conversationSchema,
  createConversationSchema,
  deletedConversationSchema,
  parseConversation,
  updateConversationSchema,
} from '../../../wire/conversations/conversation.ts';
import { json } from '../../answer.ts';
import { type Route, smallBody } from '../../route.ts';

const one = {
  path: '/v1/conversations/:conversation_id',
  access: 'inference',
  id: { prefix: 'conv_', what: 'conversation' },
} as const;
const answer = { status: 200, type: 'application/json', schema: conversationSchema } as const;

/** `POST /v1/conversations`. */
export const createConversation: Route = {
  method: 'POST',
  path: '/v1/conversations',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Create Conversation',
    summary: 'Begin a conversation that responses are made in; it has what they say',
    tag: 'Conversations',
    body: createConversationSchema,
    answer,
  },
  async handle({ body, caller }, { responses }) {
    const given = parseConversation(body.text, 'create');
    const bytes = Buffer.byteLength(body.text);
    return json(200, await responses.conversations.create(caller, given, bytes));
  },
};

/** `GET /v1/conversations/{conversation_id}`. */
export const getConversation: Route = {
  ...one,
  method: 'GET',
  docs: { name: 'Retrieve Conversation', summary: 'One conversation', tag: 'Conversations', answer },
  handle: async ({ caller, param }, { responses }) =>
    json(200, await responses.conversations.get(caller, param)),
};

/** `POST /v1/conversations/{conversation_id}`. */
export const updateConversation: Route = {
  ...one,
  method: 'POST',
  body: smallBody,
  docs: {
    name: 'Update Conversation',
    summary: 'Replace its metadata',
    tag: 'Conversations',
    body: updateConversationSchema,
    answer,
  },
  async handle({ body, caller, param }, { responses: { conversations } }) {
    await conversations.get(caller, param);
    const { metadata } = parseConversation(body.text, 'update');
    return json(200, await conversations.update(caller, param, metadata));
  },
};

/** `DELETE /v1/conversations/{conversation_id}`. */
export const deleteConversation: Route = {
  ...one,
  method: 'DELETE',
  docs: {
    name: 'Delete Conversation',
    summary: 'Forget a conversation and its items; responses that were made in it stay',
    tag: 'Conversations',
    answer: { ...answer, schema: deletedConversationSchema },
  },
  async handle({ caller, param }, { responses }) {
    await responses.conversations.remove(caller, param);
    return json(200, { id: param, object: 'conversation.deleted', deleted: true });
  },
};
