import type { ResponseStatus, StoredResponse } from '../../../core/response.ts';
import type { Db, Value } from '../../db.ts';
import type { Answered, ChainLink, ResponseSide, ResponseStore } from '../../contract/responses.ts';
import { appendAll } from './conversations.ts';
import { inLists, slices, tuples } from '../statement.ts';
import { createExpiring, isThere } from './expiring.ts';
import { addBytes } from './stored-bytes.ts';

interface ResponseRow {
  id: string;
  org_id: string;
  status: ResponseStatus;
  previous_id: string | null;
  created_at: number;
  expires_at: number;
  alive_until: number | null;
  said_bytes: number;
  output: string;
  body: string;
  pieces: string | null;
}

const heads = [
  'id',
  'org_id',
  'status',
  'previous_id',
  'created_at',
  'expires_at',
  'alive_until',
  'said_bytes',
];
const inserted = [...heads, 'input', 'output', 'body', 'pieces'];
const answered = [...heads, 'output', 'body', 'pieces'].join(', ');

/** Of all its texts. Neither database reads them for it. */
const bytesOfRow = `octet_length(input) + octet_length(output) + octet_length(body)
  + COALESCE(octet_length(pieces), 0)`;

export function createResponses(db: Db): ResponseStore {
  const { find, remove, removeExpired } = createExpiring<ResponseRow>(db, {
    table: 'responses',
    columns: answered,
    bytes: bytesOfRow,
    sweepable: 'alive_until IS NULL',
  });

  async function bySide<T>(
    what: string,
    orgId: string,
    ids: string[],
    now: number,
  ): Promise<Record<string, T>> {
    const found: Record<string, T> = {};
    for (const { sql, params } of inLists(ids)) {
      const rows = await db.all<{ id: string; value: T }>(
        `SELECT id, ${what} AS value FROM responses WHERE id IN ${sql} AND org_id = ? AND expires_at > ?`,
        [...params, orgId, now],
      );
      for (const { id, value } of rows) found[id] = value;
    }
    return found;
  }

  return {
    insert: (responses, said = []) =>
      db.tx(async (q) => {
        for (const slice of slices(responses)) {
          const values = tuples(slice.length, inserted.length);
          await q.all(
            `INSERT INTO responses (${inserted.join(', ')}) VALUES ${values}`,
            slice.flatMap(toRow),
          );
        }
        const added = await appendAll(q, said);
        return addBytes(q, [
          ...responses.map((response) => ({ orgId: response.orgId, bytes: bytesOf(response) })),
          ...added,
        ]);
      }),

    async storedBytes(orgId) {
      const [row] = await db.all<{ bytes: number }>('SELECT bytes FROM response_usage WHERE org_id = ?', [
        orgId,
      ]);
      return row?.bytes ?? 0;
    },

    async get(orgId, id, now) {
      const row = await find(orgId, id, now);
      return row && toResponse(row);
    },

    // Link by link through the primary key: a recursive statement would walk all of a chain that is to be cut.
    chain: (orgId, id, now, most) =>
      db.tx(async (q) => {
        const links: ChainLink[] = [];
        let bytes = 0;
        for (let next: string | null = id; next !== null;) {
          if (next.startsWith('conv_')) return { links, end: 'conversation' };
          if (links.length === most.links) return { links, end: 'long' };
          const [row]: Pick<ResponseRow, 'status' | 'previous_id' | 'said_bytes'>[] = await q.all(
            `SELECT status, previous_id, said_bytes FROM responses WHERE ${isThere}`,
            [next, orgId, now],
          );
          if (!row) return { links, end: 'gone' };
          links.push({ id: next, status: row.status, saidBytes: row.said_bytes });
          bytes += row.said_bytes;
          if (bytes > most.bytes) return { links, end: 'large' };
          next = row.previous_id;
        }
        return { links, end: 'whole' };
      }),

    sizes: (orgId, side: ResponseSide, ids, now) => bySide(`octet_length(${side})`, orgId, ids, now),
    texts: (orgId, side: ResponseSide, ids, now) => bySide(side, orgId, ids, now),

    finish: (id, { status, output, body, pieces }, said) =>
      db.tx(async (q) => {
        const [before] = await q.all<{ org_id: string; bytes: number }>(
          `SELECT org_id, ${bytesOfRow} AS bytes FROM responses WHERE id = ? AND alive_until IS NOT NULL ${q.lock}`,
          [id],
        );
        if (!before) return false;
        const [after] = await q.all<{ bytes: number }>(
          `UPDATE responses SET status = ?, output = ?, body = ?, pieces = ?, said_bytes = said_bytes + ?,
           alive_until = NULL WHERE id = ? RETURNING ${bytesOfRow} AS bytes`,
          [status, output, body, pieces, Buffer.byteLength(output), id],
        );
        const added = await appendAll(q, said ? [said] : []);
        await addBytes(q, [{ orgId: before.org_id, bytes: after!.bytes - before.bytes }, ...added]);
        return true;
      }),

    async renew(ids, aliveUntil) {
      const alive: string[] = [];
      for (const { sql, params } of inLists(ids)) {
        const rows = await db.all<{ id: string }>(
          `UPDATE responses SET alive_until = ? WHERE id IN ${sql} AND alive_until IS NOT NULL RETURNING id`,
          [aliveUntil, ...params],
        );
        alive.push(...rows.map((row) => row.id));
      }
      return alive;
    },

    async abandoned(now, limit) {
      const rows = await db.all<ResponseRow>(
        `SELECT ${answered} FROM responses WHERE alive_until <= ? ORDER BY alive_until, id LIMIT ?`,
        [now, limit],
      );
      return rows.map(toResponse);
    },

    remove,
    removeExpired,
  };
}

function bytesOf({ input, output, body, pieces }: StoredResponse): number {
  return [input, output, body, pieces ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function toRow(response: StoredResponse): Value[] {
  return [
    response.id,
    response.orgId,
    response.status,
    response.previousId,
    response.createdAt,
    response.expiresAt,
    response.aliveUntil,
    response.saidBytes,
    response.input,
    response.output,
    response.body,
    response.pieces,
  ];
}

function toResponse(row: ResponseRow): Answered {
  return {
    id: row.id,
    orgId: row.org_id,
    status: row.status,
    previousId: row.previous_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    aliveUntil: row.alive_until,
    saidBytes: row.said_bytes,
    output: row.output,
    body: row.body,
    pieces: row.pieces,
  };
}
