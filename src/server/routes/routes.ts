import type { Route } from '../route.ts';
import { createKey } from './admin/keys-create.ts';
import { listKeys } from './admin/keys-list.ts';
import { revokeKey } from './admin/keys-revoke.ts';
import { createOrg } from './admin/orgs-create.ts';
import { listOrgs } from './admin/orgs-list.ts';
import { cancelBatch } from './batches/cancel.ts';
import { createBatch } from './batches/create.ts';
import { streamBatchEvents } from './batches/events.ts';
import { getBatch } from './batches/get.ts';
import { listBatches } from './batches/list.ts';
import { pauseBatch, resumeBatch } from './batches/pause.ts';
import { getBatchErrors, getBatchOutput } from './batches/results.ts';
import { retryBatch } from './batches/retry.ts';
import { createChatCompletion } from './chat-completions/create.ts';
import { countChatTokens } from './chat-completions/input-tokens.ts';
import { createCompletion } from './completions-create.ts';
import {
  createConversationItems,
  deleteConversationItem,
  getConversationItem,
  listConversationItems,
} from './conversations/items.ts';
import {
  createConversation,
  deleteConversation,
  getConversation,
  updateConversation,
} from './conversations/conversations.ts';
import { createEmbeddings } from './embeddings-create.ts';
import { getFileContent } from './files/content.ts';
import { createFile } from './files/create.ts';
import { deleteFile } from './files/delete.ts';
import { getFile } from './files/get.ts';
import { listFiles } from './files/list.ts';
import { getHealth } from './healthz-get.ts';
import {
  cancelMessageBatch,
  createMessageBatch,
  deleteMessageBatch,
  getMessageBatch,
  getMessageBatchResults,
  listMessageBatches,
} from './messages/batches.ts';
import { countTokens } from './messages/count-tokens.ts';
import { createMessage } from './messages/create.ts';
import { getModel } from './models/get.ts';
import { listModels } from './models/list.ts';
import { getOpenApi } from './openapi-get.ts';
import { getReadiness } from './readyz-get.ts';
import { cancelResponse } from './responses/cancel.ts';
import { compactResponse } from './responses/compact.ts';
import { createResponse } from './responses/create.ts';
import { deleteResponse } from './responses/delete.ts';
import { getResponse } from './responses/get.ts';
import { listInputItems } from './responses/input-items.ts';
import { countInputTokens } from './responses/input-tokens.ts';
import { deleteChat, getChat, listChatMessages, listChats, updateChat } from './chat-completions/stored.ts';
import { createWebhook } from './webhooks/create.ts';
import { deleteWebhook } from './webhooks/delete.ts';
import { listDeliveries } from './webhooks/deliveries.ts';
import { getWebhook } from './webhooks/get.ts';
import { listWebhooks } from './webhooks/list.ts';
import { replayDelivery } from './webhooks/replay.ts';
import { rotateWebhook } from './webhooks/rotate.ts';
import { testWebhook } from './webhooks/test.ts';
import { updateWebhook } from './webhooks/update.ts';

/** Every operation of the API. What is not here does not exist. */
export const routes: readonly Route[] = [
  createBatch,
  listBatches,
  getBatch,
  cancelBatch,
  pauseBatch,
  resumeBatch,
  retryBatch,
  streamBatchEvents,
  getBatchOutput,
  getBatchErrors,
  createFile,
  listFiles,
  getFile,
  getFileContent,
  deleteFile,
  createChatCompletion,
  countChatTokens,
  listChats,
  getChat,
  listChatMessages,
  updateChat,
  deleteChat,
  createResponse,
  countInputTokens,
  compactResponse,
  getResponse,
  listInputItems,
  cancelResponse,
  deleteResponse,
  createConversation,
  getConversation,
  updateConversation,
  deleteConversation,
  createConversationItems,
  listConversationItems,
  getConversationItem,
  deleteConversationItem,
  createMessage,
  countTokens,
  createMessageBatch,
  listMessageBatches,
  getMessageBatch,
  cancelMessageBatch,
  deleteMessageBatch,
  getMessageBatchResults,
  createCompletion,
  createEmbeddings,
  listModels,
  getModel,
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  replayDelivery,
  createOrg,
  listOrgs,
  createKey,
  listKeys,
  revokeKey,
  getHealth,
  getReadiness,
  getOpenApi,
];
