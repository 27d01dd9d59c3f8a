import type { ConversationItem, StoredConversation, ConversationAppend } from '../../core/conversation.ts';
import type { StoredBytes } from './stored-bytes.ts';

export interface ItemPage {
  order: 'asc' | 'desc';
  limit: number;
  /** A place, of which the page has what is behind it. */
  after?: number;
}

/** Conversations that are kept by themselves. Each belongs to an org; one that has expired at `now` is not there. */
export interface ConversationStore {
  /** Returns what the org has stored now. */
  insert(
    conversation: Omit<StoredConversation, 'bytes'>,
    items: readonly ConversationItem[],
  ): Promise<StoredBytes[]>;
  get(orgId: string, id: string, now: number): Promise<StoredConversation | undefined>;
  update(
    orgId: string,
    id: string,
    metadata: string,
    now: number,
    expiresAt: number,
  ): Promise<StoredConversation | undefined>;
  /** What the org has stored then; undefined when the conversation is gone. */
  append(said: ConversationAppend): Promise<StoredBytes[] | undefined>;
  /** The items of a conversation of which it is known whose it is. */
  items(id: string, page: ItemPage): Promise<ConversationItem[]>;
  /** The bytes of each of them. */
  sizes(id: string, page: ItemPage): Promise<{ bytes: number }[]>;
  /** Where an item stands. */
  positionOf(id: string, itemId: string): Promise<number | undefined>;
  item(id: string, itemId: string): Promise<string | undefined>;
  /** All items, as JSON texts, oldest first. */
  texts(id: string): Promise<string[]>;
  /** The conversation without the item; undefined when there is no such. */
  removeItem(orgId: string, id: string, itemId: string, now: number): Promise<StoredConversation | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` that have expired, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}
