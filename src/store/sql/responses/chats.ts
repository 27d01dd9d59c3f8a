import type { ChatQuery, StoredChat } from '../../../core/stored-chat.ts';
import type { Db, Queries } from '../../db.ts';
import type { ChatWithoutMessages, ChatStore } from '../../contract/chats.ts';
import { sliceEnd } from '../scan.ts';
import { addStored, type StorageChange } from '../storage.ts';
import { conditions, tableOf } from '../table.ts';
import { createExpiring, unexpired } from './expiring.ts';

/** Rows that a slice of a search reads for one condition: about 2 ms. */
const scannedRows = 200;

type SizedRow = Pick<ChatWithoutMessages, 'id' | 'metadata'> & { bytes: number };

const chats = tableOf<StoredChat, 'messages'>('chats', { unread: ['messages'] })(
  'id orgId keyId createdAt expiresAt model metadata body messages',
);
/** SQL: size of a chat in a list. */
const shownBytes = 'octet_length(metadata) + octet_length(body)';
/** SQL: size of a chat with its messages. */
export const bytesOfChat = 'octet_length(metadata) + octet_length(body) + octet_length(messages)';

/** Inserts chats, and returns what they add to the quotas. */
export async function insertChats(q: Queries, made: readonly StoredChat[]): Promise<StorageChange[]> {
  await chats.insert(q, [...made]);
  return made.map(({ orgId, keyId, metadata, body, messages }) => {
    const bytes = [metadata, body, messages].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return { orgId, keyId, bytes, responses: 1 };
  });
}

export function createChats(db: Db): ChatStore {
  const { find, updateMetadata, remove, removeExpired } = createExpiring<ChatWithoutMessages>(db, {
    name: 'chats',
    table: chats,
    bytes: bytesOfChat,
  });

  const position = db.types.dialect === 'sqlite' ? 'instr' : 'strpos';

  async function fieldOf<T>(what: string, orgId: string, id: string, now: number): Promise<T | undefined> {
    const { sql, params } = conditions(unexpired(orgId, id, now));
    const [row] = await db.all<{ value: T }>(`SELECT ${what} AS value FROM chats WHERE ${sql}`, params);
    return row?.value;
  }

  return {
    insert: (chat) => db.tx(async (q) => addStored(q, await insertChats(q, [chat]))),

    get: find,

    messages: (orgId, id, now) => fieldOf<string>('messages', orgId, id, now),
    messagesBytes: (orgId, id, now) => fieldOf<number>('octet_length(messages)', orgId, id, now),

    list(orgId, { order, limit, after }, now) {
      const { sql, params } = conditions({ orgId, 'expires_at > ?': now, [placeIn(order)]: after });
      return db.all(
        `SELECT id, ${shownBytes} AS bytes FROM chats WHERE ${sql} ORDER BY id ${order} LIMIT ?`,
        [...params, limit],
      );
    },

    async search(orgId, { order, limit, after, model, metadata }, now) {
      const marks = Object.entries(metadata);
      const rows = { orgId, [placeIn(order)]: after };
      const sliceRows = Math.ceil(scannedRows / Math.max(1, marks.length));
      const last = await sliceEnd(db, 'chats', rows, order, sliceRows);
      const marked = marks.map(() => `${position}(metadata, ?) > 0`).join(' AND ');
      const texts = marks.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
      const { sql, params } = conditions({
        ...rows,
        [order === 'asc' ? 'id <= ?' : 'id >= ?']: last,
        'expires_at > ?': now,
        'model = ?': model,
        ...(marks.length > 0 && { [marked]: texts }),
      });
      const found = await db.all<SizedRow>(
        `SELECT id, metadata, ${shownBytes} AS bytes FROM chats WHERE ${sql} ORDER BY id ${order} LIMIT ?`,
        [...params, limit],
      );
      return {
        found: found
          .filter((row) => isMarked(row, marks))
          .map(({ id, bytes: size }) => ({ id, bytes: size })),
        next: found.length === limit ? found.at(-1)!.id : (last ?? null),
      };
    },

    async read(orgId, ids, now) {
      const rows = await chats.among(db, 'id', ids, { orgId, 'expires_at > ?': now });
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },

    update: updateMetadata,
    remove,
    removeExpired,
  };
}

function placeIn(order: ChatQuery['order']): string {
  return order === 'asc' ? 'id > ?' : 'id < ?';
}

/** The text that is searched for may also be the end of a longer name: `x"a` ends like `a`. */
function isMarked({ metadata }: SizedRow, marks: readonly (readonly [string, string])[]): boolean {
  if (marks.length === 0) return true;
  const has = new Map(Object.entries(JSON.parse(metadata) as Record<string, string>));
  return marks.every(([name, value]) => has.get(name) === value);
}
