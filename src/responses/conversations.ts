import { isId } from '../base/ids.ts';
import { ApiError, invalid, notFound } from '../core/errors.ts';
import type { StoredConversation } from '../core/conversation.ts';
import { familyOf } from '../core/key-family.ts';
import type { Caller } from '../core/org.ts';
import { presentConversation } from '../wire/conversations/conversation.ts';
import type { ItemsQuery } from '../wire/shared/query-params.ts';
import { quoted } from '../wire/json/parse.ts';
import { itemOrigin } from '../wire/responses/item-ids.ts';
import type { InputItem, StoredItem } from '../wire/responses/responses.ts';
import { storedItems } from '../wire/responses/stored-items.ts';
import { cutPage } from './page.ts';
import type { ResponsesContext } from './context.ts';
import { toConversationItems } from './conversation-turn.ts';

/**
 * Stored conversations. A response in one gets its items, and adds its own turn. Those of other orgs are `not_found`.
 *
 * Adding items throws `storage_quota_exceeded` (402) if the org stores too much, and `validation_error` (422) if the
 * conversation would exceed `limits.conversation_bytes`.
 */
export function createConversations(context: ResponsesContext) {
  const { clock, ids, quota, memory, maxBytes, ttlMs } = context;
  const store = context.store.conversations;

  async function find(orgId: string, id: string): Promise<StoredConversation> {
    const found = isId('conv_', id) ? await store.get(orgId, id, clock.now()) : undefined;
    if (!found) throw notFound('conversation');
    return found;
  }

  /** Gives items ids of a fictitious response, because the client's ids cannot be trusted. */
  const toStored = (items: readonly InputItem[]) => {
    const source = ids.next('resp_');
    return toConversationItems(storedItems([...items], source), source);
  };

  async function withQuota<T>(
    caller: Caller,
    { bytes, rows }: { bytes: number; rows: number },
    work: () => Promise<T>,
  ): Promise<T> {
    const release = await quota.reserve(caller, bytes, rows);
    try {
      return await work();
    } finally {
      release();
    }
  }

  function requireRoom(bytes: number): void {
    if (bytes > maxBytes)
      throw invalid(
        'items',
        `with these items the conversation has more than ${maxBytes} bytes (limits.conversation_bytes): ` +
          'remove items, or create another conversation',
      );
  }

  const times = () => {
    const now = clock.now();
    return { now, expiresAt: now + ttlMs };
  };

  return {
    /** @param bytes size of the request */
    async create(
      caller: Caller,
      { items, metadata }: { items: readonly InputItem[]; metadata: Record<string, string> },
      bytes: number,
    ) {
      requireRoom(bytes);
      const { orgId } = caller;
      const keyId = familyOf(caller);
      return withQuota(caller, { bytes, rows: 1 + items.length }, async () => {
        const { now, expiresAt } = times();
        const id = ids.next('conv_');
        const made = { id, orgId, keyId, createdAt: now, expiresAt, metadata: JSON.stringify(metadata) };
        quota.note(await store.insert(made, toStored(items)));
        return presentConversation({ ...made, bytes: 0 });
      });
    },

    get: async ({ orgId }: Caller, id: string) => presentConversation(await find(orgId, id)),

    async update({ orgId }: Caller, id: string, metadata: Record<string, string>) {
      const { now, expiresAt } = times();
      const updated = await store.update(orgId, id, JSON.stringify(metadata), now, expiresAt);
      if (!updated) throw notFound('conversation');
      return presentConversation(updated);
    },

    async remove({ orgId }: Caller, id: string) {
      if (!isId('conv_', id) || !(await store.remove(orgId, id, clock.now()))) throw notFound('conversation');
    },

    /** Adds all items or none, and returns them as stored. */
    async addItems(caller: Caller, id: string, items: readonly InputItem[], bytes: number) {
      const { orgId } = caller;
      const keyId = familyOf(caller);
      requireRoom((await find(orgId, id)).bytes + bytes);
      return withQuota(caller, { bytes, rows: items.length }, async () => {
        const stored = toStored(items);
        const totals = await store.append({ orgId, keyId, conversationId: id, items: stored, ...times() });
        if (!totals) throw notFound('conversation');
        quota.note(totals);
        return stored.map(({ item }) => JSON.parse(item) as StoredItem);
      });
    },

    async items({ orgId }: Caller, id: string, { limit, order, after }: ItemsQuery, signal: AbortSignal) {
      await find(orgId, id);
      const position =
        after === undefined || !itemOrigin(after) ? undefined : await store.positionOf(id, after);
      if (after !== undefined && position === undefined)
        throw invalid('after', `${quoted(after)} is not an id of this list`);
      const page = { order, ...(position !== undefined && { after: position }) };
      const sizes = await store.sizes(id, { ...page, limit: limit + 1 });
      const { count, bytes, hasMore } = cutPage(sizes, limit);
      return memory.within(orgId, bytes, signal, async () => {
        const found = await store.items(id, { ...page, limit: count });
        return { items: found.map(({ item }) => JSON.parse(item) as StoredItem), hasMore };
      });
    },

    async item({ orgId }: Caller, id: string, itemId: string) {
      await find(orgId, id);
      const item = itemOrigin(itemId) && (await store.item(id, itemId));
      if (item === undefined) throw itemNotFound();
      return JSON.parse(item) as StoredItem;
    },

    /** Removes an item and returns the conversation. */
    async removeItem({ orgId }: Caller, id: string, itemId: string) {
      await find(orgId, id);
      const left = itemOrigin(itemId) && (await store.removeItem(orgId, id, itemId, clock.now()));
      if (!left) throw itemNotFound();
      return presentConversation(left);
    },
  };
}

export type Conversations = ReturnType<typeof createConversations>;

function itemNotFound(): ApiError {
  return new ApiError('not_found', 'The conversation has no such item.');
}
