import type { ConversationItem, KeptConversation, Said } from '../../../core/conversation.ts';
import type { Db, Queries } from '../../db.ts';
import type { ConversationStore, ItemPage } from '../../contract/conversations.ts';
import type { StoredBytes } from '../../contract/stored-bytes.ts';
import { columnsOf } from '../columns.ts';
import { createExpiring, isThere } from './expiring.ts';
import { addBytes } from './stored-bytes.ts';
import { slices, tuples } from '../statement.ts';

const columns = columnsOf<KeptConversation>()('id orgId createdAt expiresAt bytes metadata');

export function createConversations(db: Db): ConversationStore {
  const { find, updateMetadata, remove, removeExpired } = createExpiring<KeptConversation>(db, {
    table: 'conversations',
    columns,
    bytes: 'bytes + octet_length(metadata)',
    along: (q, id) => q.all('DELETE FROM conversation_items WHERE conversation_id = ?', [id]),
  });

  function readPage<T extends object>(
    what: string,
    id: string,
    { order, limit, after }: ItemPage,
  ): Promise<T[]> {
    const behind = after === undefined ? '' : `AND seq ${order === 'asc' ? '>' : '<'} ?`;
    return db.all(
      `SELECT ${what} FROM conversation_items WHERE conversation_id = ? ${behind} ORDER BY seq ${order} LIMIT ?`,
      [id, ...(after === undefined ? [] : [after]), limit],
    );
  }

  return {
    insert: (conversation, items) =>
      db.tx(async (q) => {
        const { id, orgId, createdAt, expiresAt, metadata } = conversation;
        await q.all(
          `INSERT INTO conversations (${columns.names}, last_seq) VALUES (?, ?, ?, ?, ?, ?, 0)`,
          columns.values({ ...conversation, bytes: 0 }),
        );
        const said: Said = { orgId, conversationId: id, items, now: createdAt, expiresAt };
        const own = { orgId, bytes: Buffer.byteLength(metadata) };
        return addBytes(q, [own, ...(await appendAll(q, [said]))]);
      }),

    get: find,
    update: updateMetadata,

    append: (said) =>
      db.tx(async (q) => {
        const added = await appendAll(q, [said]);
        return added.length === 0 ? undefined : addBytes(q, added);
      }),

    items: (id, page) => readPage<ConversationItem>('id, item', id, page),
    sizes: (id, page) => readPage<{ bytes: number }>('octet_length(item) AS bytes', id, page),

    async placeOf(id, itemId) {
      const [row] = await db.all<{ seq: number }>(
        'SELECT seq FROM conversation_items WHERE conversation_id = ? AND id = ?',
        [id, itemId],
      );
      return row?.seq;
    },

    async item(id, itemId) {
      const [row] = await db.all<{ item: string }>(
        'SELECT item FROM conversation_items WHERE conversation_id = ? AND id = ?',
        [id, itemId],
      );
      return row?.item;
    },

    async texts(id) {
      const rows = await db.all<{ item: string }>(
        'SELECT item FROM conversation_items WHERE conversation_id = ? ORDER BY seq',
        [id],
      );
      return rows.map(({ item }) => item);
    },

    removeItem: (orgId, id, itemId, now) =>
      db.tx(async (q) => {
        const [owner] = await q.all(`SELECT id FROM conversations WHERE ${isThere} ${q.lock}`, [
          id,
          orgId,
          now,
        ]);
        if (!owner) return undefined;
        const [gone] = await q.all<{ bytes: number }>(
          'DELETE FROM conversation_items WHERE conversation_id = ? AND id = ? RETURNING octet_length(item) AS bytes',
          [id, itemId],
        );
        if (!gone) return undefined;
        const [row] = await q.all<KeptConversation>(
          `UPDATE conversations SET bytes = bytes - ? WHERE id = ? RETURNING ${columns.fields}`,
          [gone.bytes, id],
        );
        await addBytes(q, [{ orgId, bytes: -gone.bytes }]);
        return row;
      }),

    remove,
    removeExpired,
  };
}

/**
 * Adds what was said to those conversations that are there; returns what each of these has more. They come in one order, so
 * that of two transactions one waits and none is a victim.
 */
export async function appendAll(q: Queries, said: readonly Said[]): Promise<StoredBytes[]> {
  const added: StoredBytes[] = [];
  const inOrder = said.toSorted((a, b) => (a.conversationId < b.conversationId ? -1 : 1));
  for (const { orgId, conversationId, items, now, expiresAt } of inOrder) {
    const [row] = await q.all<{ last_seq: number }>(
      `UPDATE conversations SET last_seq = last_seq + ?, expires_at = ? WHERE ${isThere} RETURNING last_seq`,
      [items.length, expiresAt, conversationId, orgId, now],
    );
    if (!row) continue;
    let seq = row.last_seq - items.length;
    let bytes = 0;
    for (const slice of slices(items)) {
      const kept = await q.all<{ bytes: number }>(
        `INSERT INTO conversation_items (conversation_id, seq, id, item) VALUES ${tuples(slice.length, 4)}
         ON CONFLICT DO NOTHING RETURNING octet_length(item) AS bytes`,
        slice.flatMap(({ id, item }) => [conversationId, ++seq, id, item]),
      );
      for (const each of kept) bytes += each.bytes;
    }
    await q.all('UPDATE conversations SET bytes = bytes + ? WHERE id = ?', [bytes, conversationId]);
    added.push({ orgId, bytes });
  }
  return added;
}
