import type { ConversationAppend } from './conversation.ts';
import type { ResponseEnd, StoredResponse } from './response.ts';
import type { StoredChat } from './stored-chat.ts';

/** Rows that are stored with the result of a single request, in one transaction, so that clients read its answer by id. */
export interface AnswerRows {
  chat?: StoredChat;
  response?: StoredResponse;
  /** End of a response that was stored with its request, in the background; announced to webhooks. */
  ended?: { id: string; end: ResponseEnd };
  /** Items for the conversation of the response. */
  turn?: ConversationAppend;
}
