import type { BatchEndpoint } from './batch.ts';
import type { ConversationAppend } from './conversation.ts';
import type { StoredResponse } from './response.ts';
import type { ServiceTier } from './service-tier.ts';
import type { StoredChat } from './stored-chat.ts';

/** Rows by which a client reads an answer by its id. */
export interface AnswerRows {
  chat?: StoredChat;
  response?: StoredResponse;
  /** Items for the conversation of a response. */
  turn?: ConversationAppend;
}

/** Answer of a single request that ran as a line, before it is recorded. */
export interface AnsweredRequest {
  orgId: string;
  /** Family of the key. */
  keyId: string;
  tier: ServiceTier;
  endpoint: BatchEndpoint;
  /** Body of the request, and its JSON text. */
  request: { value: Record<string, unknown>; text: string };
  /** Answer, or its JSON text. */
  answer: object | string;
  /** Epoch milliseconds. */
  now: number;
}

/** Completes an answer for its client, and gives the rows to store with its result. */
export type FinishAnswer = (answered: AnsweredRequest) => { answer: object | string; rows: AnswerRows };
