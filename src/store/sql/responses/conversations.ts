import type { ConversationItem, StoredConversation, ConversationAppend } from '../../../core/conversation.ts';
import type { Db, Queries } from '../../db.ts';
import type { ConversationStore, ItemPage } from '../../contract/conversations.ts';
import { createExpiring, unexpired } from './expiring.ts';
import { addStored, type StorageChange } from '../storage.ts';
import { conditions, tableOf } from '../table.ts';

const conversations = tableOf<StoredConversation & { lastSeq: number }, 'lastSeq'>('conversations', {
  unread: ['lastSeq'],
})('id orgId keyId createdAt expiresAt bytes metadata lastSeq');

type ItemRow = ConversationItem & { conversationId: string; seq: number; keyId: string | null };

const conversationItems = tableOf<ItemRow, 'conversationId' | 'keyId'>('conversation_items', {
  unread: ['conversationId', 'keyId'],
})('conversationId seq id item keyId');

/** SQL: size of a conversation without its items. */
export const bytesOfConversation = 'octet_length(metadata)';

export function createConversations(db: Db): ConversationStore {
  const { find, updateMetadata, remove, removeExpired } = createExpiring<StoredConversation>(db, {
    name: 'conversations',
    table: conversations,
    bytes: bytesOfConversation,
    along: removeItems,
  });

  function readPage<T extends object>(
    what: string,
    id: string,
    { order, limit, after }: ItemPage,
  ): Promise<T[]> {
    const place = order === 'asc' ? 'seq > ?' : 'seq < ?';
    const { sql, params } = conditions({ conversationId: id, [place]: after });
    return db.all(`SELECT ${what} FROM conversation_items WHERE ${sql} ORDER BY seq ${order} LIMIT ?`, [
      ...params,
      limit,
    ]);
  }

  const itemOf = (id: string, itemId: string) =>
    conversationItems.first(db, { conversationId: id, id: itemId });

  return {
    insert: (conversation, items) =>
      db.tx(async (q) => {
        const { id, orgId, keyId, createdAt, expiresAt, metadata } = conversation;
        await conversations.insert(q, [{ ...conversation, bytes: 0, lastSeq: 0 }]);
        const first = { orgId, keyId, conversationId: id, items, now: createdAt, expiresAt };
        const own = { orgId, keyId, bytes: Buffer.byteLength(metadata), responses: 1 };
        return addStored(q, [own, ...(await appendAll(q, [first]))]);
      }),

    get: find,
    update: updateMetadata,

    append: (addition) =>
      db.tx(async (q) => {
        const added = await appendAll(q, [addition]);
        return added.length === 0 ? undefined : addStored(q, added);
      }),

    items: (id, page) => readPage<ConversationItem>('id, item', id, page),
    sizes: (id, page) => readPage<{ bytes: number }>('octet_length(item) AS bytes', id, page),

    positionOf: async (id, itemId) => (await itemOf(id, itemId))?.seq,
    item: async (id, itemId) => (await itemOf(id, itemId))?.item,

    async texts(id) {
      const rows = await db.all<{ item: string }>(
        'SELECT item FROM conversation_items WHERE conversation_id = ? ORDER BY seq',
        [id],
      );
      return rows.map(({ item }) => item);
    },

    removeItem: (orgId, id, itemId, now) =>
      db.tx(async (q) => {
        if (!(await conversations.first(q, unexpired(orgId, id, now), q.forUpdate))) return undefined;
        const [gone] = await q.all<{ keyId: string | null; bytes: number }>(
          `DELETE FROM conversation_items WHERE conversation_id = ? AND id = ?
           RETURNING key_id AS "keyId", octet_length(item) AS bytes`,
          [id, itemId],
        );
        if (!gone) return undefined;
        const [row] = await conversations.update(q, { 'bytes = bytes - ?': gone.bytes }, { id });
        await addStored(q, [{ orgId, keyId: gone.keyId ?? row!.keyId, bytes: -gone.bytes, responses: -1 }]);
        return row;
      }),

    remove,
    removeExpired,
  };
}

/** Removes the items of a conversation, each from the quota of the key that added it. */
async function removeItems(
  q: Queries,
  { id, orgId, keyId }: { id: string; orgId: string; keyId: string | null },
): Promise<StorageChange[]> {
  const sums = await q.all<{ keyId: string | null; items: number; bytes: number }>(
    `SELECT key_id AS "keyId", count(*) AS items, CAST(sum(octet_length(item)) AS bigint) AS bytes
     FROM conversation_items WHERE conversation_id = ? GROUP BY key_id`,
    [id],
  );
  await conversationItems.remove(q, { conversationId: id });
  return sums.map((sum) => ({
    orgId,
    keyId: sum.keyId ?? keyId,
    bytes: -sum.bytes,
    responses: -sum.items,
  }));
}

/** A new conversation gets its first items with the key that made it, which versions before did not record. */
type Appended = Omit<ConversationAppend, 'keyId'> & { keyId: string | null };

/** Appends to existing conversations, in one lock order for all processes, and returns what was added. */
export async function appendAll(q: Queries, additions: readonly Appended[]): Promise<StorageChange[]> {
  const added: StorageChange[] = [];
  const inOrder = additions.toSorted((a, b) => (a.conversationId < b.conversationId ? -1 : 1));
  for (const { orgId, keyId, conversationId, items, now, expiresAt } of inOrder) {
    const there = conditions(unexpired(orgId, conversationId, now));
    const [row] = await q.all<{ last_seq: number }>(
      `UPDATE conversations SET last_seq = last_seq + ?, expires_at = ? WHERE ${there.sql} RETURNING last_seq`,
      [items.length, expiresAt, ...there.params],
    );
    if (!row) continue;
    const first = row.last_seq - items.length + 1;
    const kept = (await conversationItems.insert(
      q,
      items.map(({ id, item }, at) => ({ conversationId, seq: first + at, id, item, keyId })),
      'ON CONFLICT DO NOTHING RETURNING octet_length(item) AS bytes',
    )) as { bytes: number }[];
    const bytes = kept.reduce((sum, each) => sum + each.bytes, 0);
    await q.all('UPDATE conversations SET bytes = bytes + ? WHERE id = ?', [bytes, conversationId]);
    added.push({ orgId, keyId, bytes, responses: kept.length });
  }
  return added;
}
