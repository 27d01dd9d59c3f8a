/** A conversation that is kept by itself. Instants are epoch milliseconds. */
export interface StoredConversation {
  id: string;
  orgId: string;
  createdAt: number;
  /** Moves on whenever something is added. */
  expiresAt: number;
  /** Of the texts of its items. */
  bytes: number;
  /** JSON text. */
  metadata: string;
}

export interface ConversationItem {
  id: string;
  /** JSON text, the id in it. */
  item: string;
}

/** What a conversation is to have from now on, unless it is gone. An item whose id it has already is not added again. */
export interface ConversationAppend {
  orgId: string;
  conversationId: string;
  items: readonly ConversationItem[];
  /** A conversation that has expired then is gone. */
  now: number;
  expiresAt: number;
}
