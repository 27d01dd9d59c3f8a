import type { KeptChat } from '../../../core/kept-chat.ts';
import type { Db, Value } from '../../db.ts';
import type { AnsweredChat, ChatStore } from '../../contract/chats.ts';
import { addBytes } from './stored-bytes.ts';

interface Row {
  id: string;
  org_id: string;
  created_at: number;
  expires_at: number;
  model: string;
  metadata: string;
  body: string;
}

const columns = 'id, org_id, created_at, expires_at, model, metadata, body';
const isThere = 'id = ? AND org_id = ? AND expires_at > ?';
const bytes = 'octet_length(metadata) + octet_length(body) + octet_length(messages) AS bytes';

export function createChats(db: Db): ChatStore {
  function removeWhere(condition: string, params: Value[]): Promise<number> {
    return db.tx(async (q) => {
      const removed = await q.all<{ org_id: string; bytes: number }>(
        `DELETE FROM chats WHERE ${condition} RETURNING org_id, ${bytes}`,
        params,
      );
      await addBytes(
        q,
        removed.map((row) => ({ orgId: row.org_id, bytes: -row.bytes })),
      );
      return removed.length;
    });
  }

  return {
    insert: ({ id, orgId, createdAt, expiresAt, model, metadata, body, messages }) =>
      db.tx(async (q) => {
        const [row] = await q.all<{ bytes: number }>(
          `INSERT INTO chats (${columns}, messages) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${bytes}`,
          [id, orgId, createdAt, expiresAt, model, metadata, body, messages],
        );
        return addBytes(q, [{ orgId, bytes: row!.bytes }]);
      }),

    async get(orgId, id, now) {
      const [row] = await db.all<Row>(`SELECT ${columns} FROM chats WHERE ${isThere}`, [id, orgId, now]);
      return row && toChat(row);
    },

    async messages(orgId, id, now) {
      const [row] = await db.all<{ messages: string }>(`SELECT messages FROM chats WHERE ${isThere}`, [
        id,
        orgId,
        now,
      ]);
      return row?.messages;
    },

    async list(orgId, { order, limit, after, model, metadata }, now) {
      const marks = Object.entries(metadata);
      const conditions = ['org_id = ?', 'expires_at > ?'];
      const params: Value[] = [orgId, now];
      const only = (condition: string, value: string) => {
        conditions.push(condition);
        params.push(value);
      };
      if (model !== undefined) only('model = ?', model);
      for (const [name, value] of marks)
        only("replace(metadata, ?, '') <> metadata", `${JSON.stringify(name)}:${JSON.stringify(value)}`);
      const pageAfter = (id: string | undefined) => {
        const place = id === undefined ? '' : `AND id ${order === 'asc' ? '>' : '<'} ?`;
        return db.all<Row>(
          `SELECT ${columns} FROM chats WHERE ${conditions.join(' AND ')} ${place} ORDER BY id ${order} LIMIT ?`,
          [...params, ...(id === undefined ? [] : [id]), limit],
        );
      };
      const found: Row[] = [];
      let rows = await pageAfter(after);
      for (;;) {
        found.push(...rows.filter((row) => isMarked(row, marks)));
        if (rows.length < limit || found.length >= limit) return found.slice(0, limit).map(toChat);
        rows = await pageAfter(rows.at(-1)!.id);
      }
    },

    update: (orgId, id, metadata, now) =>
      db.tx(async (q) => {
        const [before] = await q.all<{ bytes: number }>(
          `SELECT octet_length(metadata) AS bytes FROM chats WHERE ${isThere} ${q.lock}`,
          [id, orgId, now],
        );
        if (!before) return undefined;
        const [row] = await q.all<Row>(`UPDATE chats SET metadata = ? WHERE id = ? RETURNING ${columns}`, [
          metadata,
          id,
        ]);
        await addBytes(q, [{ orgId, bytes: Buffer.byteLength(metadata) - before.bytes }]);
        return toChat(row!);
      }),

    async remove(orgId, id, now) {
      return (await removeWhere(isThere, [id, orgId, now])) > 0;
    },

    removeExpired: (now, limit) =>
      removeWhere(
        `id IN (SELECT id FROM chats WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ? ${db.skip})`,
        [now, limit],
      ),
  };
}

/** The text that is searched for may also be the end of a longer name: `x"a` ends like `a`. */
function isMarked({ metadata }: Row, marks: readonly (readonly [string, string])[]): boolean {
  if (marks.length === 0) return true;
  const has = new Map(Object.entries(JSON.parse(metadata) as Record<string, string>));
  return marks.every(([name, value]) => has.get(name) === value);
}

function toChat(row: Row): AnsweredChat {
  return {
    id: row.id,
    orgId: row.org_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    model: row.model,
    metadata: row.metadata,
    body: row.body,
  } satisfies Omit<KeptChat, 'messages'>;
}
