import { isId } from '../base/ids.ts';
import { ApiError, invalid, notFound } from '../core/errors.ts';
import type { StoredConversation } from '../core/conversation.ts';
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
 * Conversations that are kept by themselves: responses that are made in one are told what it has, and it has what they said
 * afterwards. Each belongs to an org; another org's is `not_found`, like one that never was.
 *
 * Whatever adds to one throws `storage_quota_exceeded` (402) where the org stores too much, and `validation_error` (422) where
 * the conversation would have more bytes than are put together.
 */
export function createConversations(context: ResponsesContext) {
  const { clock, ids, quota, memory, maxBytes, ttlMs } = context;
  const store = context.store.conversations;

  async function find(orgId: string, id: string): Promise<StoredConversation> {
    const found = isId('conv_', id) ? await store.get(orgId, id, clock.now()) : undefined;
    if (!found) throw notFound('conversation');
    return found;
  }

  /** Items bring no ids of their own, or such as are not to be trusted: they get those of a response that is none. */
  const toKeep = (items: readonly InputItem[]) => {
    const source = ids.next('resp_');
    return toConversationItems(storedItems([...items], source), source);
  };

  async function reserved<T>(orgId: string, bytes: number, work: () => Promise<T>): Promise<T> {
    const giveBack = await quota.reserve(orgId, bytes);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  function requireRoom(bytes: number): void {
    if (bytes > maxBytes)
      throw invalid(
        'items',
        `with these the conversation has more than ${maxBytes} bytes, the most that is put together ` +
          '(limits.conversation_bytes): take items out of it, or create another one',
      );
  }

  const times = () => {
    const now = clock.now();
    return { now, expiresAt: now + ttlMs };
  };

  return {
    /** @param bytes of the request */
    async create(
      { orgId }: Caller,
      { items, metadata }: { items: readonly InputItem[]; metadata: Record<string, string> },
      bytes: number,
    ) {
      requireRoom(bytes);
      return reserved(orgId, bytes, async () => {
        const { now, expiresAt } = times();
        const id = ids.next('conv_');
        const made = { id, orgId, createdAt: now, expiresAt, metadata: JSON.stringify(metadata) };
        quota.note(await store.insert(made, toKeep(items)));
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

    /** Adds items, all of them or none, and returns them as they are kept. */
    async addItems({ orgId }: Caller, id: string, items: readonly InputItem[], bytes: number) {
      requireRoom((await find(orgId, id)).bytes + bytes);
      return reserved(orgId, bytes, async () => {
        const kept = toKeep(items);
        const totals = await store.append({ orgId, conversationId: id, items: kept, ...times() });
        if (!totals) throw notFound('conversation');
        quota.note(totals);
        return kept.map(({ item }) => JSON.parse(item) as StoredItem);
      });
    },

    async items({ orgId }: Caller, id: string, { limit, order, after }: ItemsQuery, signal: AbortSignal) {
      await find(orgId, id);
      const place = after === undefined || !itemOrigin(after) ? undefined : await store.positionOf(id, after);
      if (after !== undefined && place === undefined)
        throw invalid('after', `${quoted(after)} is not an id of this list`);
      const page = { order, ...(place !== undefined && { after: place }) };
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
      if (item === undefined) throw noSuchItem();
      return JSON.parse(item) as StoredItem;
    },

    /** The conversation without it. */
    async removeItem({ orgId }: Caller, id: string, itemId: string) {
      await find(orgId, id);
      const left = itemOrigin(itemId) && (await store.removeItem(orgId, id, itemId, clock.now()));
      if (!left) throw noSuchItem();
      return presentConversation(left);
    },
  };
}

export type Conversations = ReturnType<typeof createConversations>;

function noSuchItem(): ApiError {
  return new ApiError('not_found', 'The conversation has no such item.');
}
