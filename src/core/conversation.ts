/** Stored conversation. Instants are epoch milliseconds. */
export interface StoredConversation {
  id: string;
  orgId: string;
  keyId: string | null;
  createdAt: number;
  /** Extended whenever items are added. */
  expiresAt: number;
  /** Size of the items. */
  bytes: number;
  /** JSON text. */
  metadata: string;
}

export interface ConversationItem {
  id: string;
  /** JSON text, including the id. */
  item: string;
}

/** Items to add to a conversation, if it still exists. Items with a known id are skipped. */
export interface ConversationAppend {
  orgId: string;
  /** Family of the key for whose quota the items count. */
  keyId: string;
  conversationId: string;
  items: readonly ConversationItem[];
  now: number;
  expiresAt: number;
}
