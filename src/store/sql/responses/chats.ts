import type { Db, Value } from '../../db.ts';
import type { AnsweredChat, ChatStore } from '../../contract/chats.ts';
import { columnsOf } from '../columns.ts';
import { inLists, tuples } from '../statement.ts';
import { createExpiring, isThere } from './expiring.ts';
import { addBytes } from './stored-bytes.ts';

type SizedRow = Pick<AnsweredChat, 'id' | 'metadata'> & { bytes: number };

const columns = columnsOf<AnsweredChat>()('id orgId createdAt expiresAt model metadata body');
const bytes = 'octet_length(metadata) + octet_length(body) + octet_length(messages)';

export function createChats(db: Db): ChatStore {
  const { find, updateMetadata, remove, removeExpired } = createExpiring<AnsweredChat>(db, {
    table: 'chats',
    columns,
    bytes,
  });

  async function fieldOf<T>(what: string, orgId: string, id: string, now: number): Promise<T | undefined> {
    const [row] = await db.all<{ value: T }>(`SELECT ${what} AS value FROM chats WHERE ${isThere}`, [
      id,
      orgId,
      now,
    ]);
    return row?.value;
  }

  return {
    insert: (chat) =>
      db.tx(async (q) => {
        const [row] = await q.all<{ bytes: number }>(
          `INSERT INTO chats (${columns.names}, messages) VALUES ${tuples(1, columns.count + 1)} RETURNING ${bytes} AS bytes`,
          [...columns.values(chat), chat.messages],
        );
        return addBytes(q, [{ orgId: chat.orgId, bytes: row!.bytes }]);
      }),

    get: find,

    messages: (orgId, id, now) => fieldOf<string>('messages', orgId, id, now),
    messagesBytes: (orgId, id, now) => fieldOf<number>('octet_length(messages)', orgId, id, now),

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
        return db.all<SizedRow>(
          `SELECT id, metadata, octet_length(body) AS bytes FROM chats WHERE ${conditions.join(' AND ')} ${place}
           ORDER BY id ${order} LIMIT ?`,
          [...params, ...(id === undefined ? [] : [id]), limit],
        );
      };
      const found: SizedRow[] = [];
      let rows = await pageAfter(after);
      for (;;) {
        found.push(...rows.filter((row) => isMarked(row, marks)));
        if (rows.length < limit || found.length >= limit) return found.slice(0, limit);
        rows = await pageAfter(rows.at(-1)!.id);
      }
    },

    async read(orgId, ids, now) {
      const found = new Map<string, AnsweredChat>();
      for (const { sql, params } of inLists(ids)) {
        const rows = await db.all<AnsweredChat>(
          `SELECT ${columns.fields} FROM chats WHERE id IN ${sql} AND org_id = ? AND expires_at > ?`,
          [...params, orgId, now],
        );
        for (const row of rows) found.set(row.id, row);
      }
      return ids.flatMap((id) => found.get(id) ?? []);
    },

    update: updateMetadata,
    remove,
    removeExpired,
  };
}

/** The text that is searched for may also be the end of a longer name: `x"a` ends like `a`. */
function isMarked({ metadata }: SizedRow, marks: readonly (readonly [string, string])[]): boolean {
  if (marks.length === 0) return true;
  const has = new Map(Object.entries(JSON.parse(metadata) as Record<string, string>));
  return marks.every(([name, value]) => has.get(name) === value);
}
