import type { Caller } from '../core/org.ts';
import type { ConversationBody } from '../wire/conversations/conversation.ts';
import type { ItemsQuery } from '../wire/items-page.ts';
import type { InputItem, StoredItem } from '../wire/responses/responses.ts';

/**
 * Conversations that are kept by themselves: responses that are made in one are told what it has, and it has what they said
 * afterwards. Each belongs to an org; another org's is `not_found`, like one that never was.
 *
 * Whatever adds to one throws `storage_quota_exceeded` (402) where the org stores too much, and `validation_error` (422) where
 * the conversation would have more bytes than are put together.
 */
export interface Conversations {
  /** @param bytes of the request */
  create(
    caller: Caller,
    given: { items: readonly InputItem[]; metadata: Record<string, string> },
    bytes: number,
  ): Promise<ConversationBody>;
  get(caller: Caller, id: string): Promise<ConversationBody>;
  update(caller: Caller, id: string, metadata: Record<string, string>): Promise<ConversationBody>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Adds items, all of them or none, and returns them as they are kept. */
  addItems(caller: Caller, id: string, items: readonly InputItem[], bytes: number): Promise<StoredItem[]>;
  items(
    caller: Caller,
    id: string,
    query: ItemsQuery,
    signal: AbortSignal,
  ): Promise<{ items: StoredItem[]; hasMore: boolean }>;
  item(caller: Caller, id: string, itemId: string): Promise<StoredItem>;
  /** The conversation without it. */
  removeItem(caller: Caller, id: string, itemId: string): Promise<ConversationBody>;
}
