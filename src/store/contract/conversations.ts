import type { ConversationItem, StoredConversation, ConversationAppend } from '../../core/conversation.ts';
import type { Stored } from './storage.ts';

export interface ItemPage {
  order: 'asc' | 'desc';
  limit: number;
  /** Position after which the page begins. */
  after?: number;
}

/** Stored conversations. Expired ones count as missing. */
export interface ConversationStore {
  /** Returns what its org and key store. */
  insert(
    conversation: Omit<StoredConversation, 'bytes'>,
    items: readonly ConversationItem[],
  ): Promise<Stored[]>;
  get(orgId: string, id: string, now: number): Promise<StoredConversation | undefined>;
  update(
    orgId: string,
    id: string,
    metadata: string,
    now: number,
    expiresAt: number,
  ): Promise<StoredConversation | undefined>;
  /** Returns what its org and key store; undefined if the conversation is missing. */
  append(addition: ConversationAppend): Promise<Stored[] | undefined>;
  /** Items of a conversation. The caller has checked its org. */
  items(id: string, page: ItemPage): Promise<ConversationItem[]>;
  /** Sizes of the items of a page. */
  sizes(id: string, page: ItemPage): Promise<{ bytes: number }[]>;
  positionOf(id: string, itemId: string): Promise<number | undefined>;
  item(id: string, itemId: string): Promise<string | undefined>;
  /** JSON texts of all items, oldest first. */
  texts(id: string): Promise<string[]>;
  /** Returns the changed conversation; undefined if there is no such item. */
  removeItem(orgId: string, id: string, itemId: string, now: number): Promise<StoredConversation | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired ones and returns their number. */
  removeExpired(now: number, limit: number): Promise<number>;
}
