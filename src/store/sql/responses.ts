import type { ResponseStatus, StoredResponse } from '../../core/response.ts';
import type { Db, Queries, Value } from '../db.ts';
import type { ResponseStore } from '../store.ts';
import { inLists, slices, tuples } from './statement.ts';

interface ResponseRow {
  id: string;
  org_id: string;
  status: ResponseStatus;
  previous_id: string | null;
  created_at: number;
  expires_at: number;
  alive_until: number | null;
  pieces: string | null;
  input: string;
  body: string;
}

const names = 'id org_id status previous_id created_at expires_at alive_until pieces input body'.split(' ');
const columns = names.join(', ');

export function createResponses(db: Db): ResponseStore {
  return {
    async insert(responses) {
      const [first = [], ...others] = slices(responses);
      // A statement is a transaction of its own.
      if (others.length === 0) return insertSlice(db, first);
      await db.tx(async (q) => {
        for (const slice of [first, ...others]) await insertSlice(q, slice);
      });
    },

    async get(orgId, id, now) {
      const [row] = await db.all<ResponseRow>(
        `SELECT ${columns} FROM responses WHERE id = ? AND org_id = ? AND expires_at > ?`,
        [id, orgId, now],
      );
      return row && toResponse(row);
    },

    // Link by link through the primary key: a recursive statement would read all of a chain that is to be cut.
    chain: (orgId, id, now, most) =>
      db.tx(async (q) => {
        const links: StoredResponse[] = [];
        let chars = 0;
        for (let next: string | null = id; next !== null;) {
          if (links.length === most.links || chars > most.chars) return { links, end: 'cut' };
          const [row]: ResponseRow[] = await q.all<ResponseRow>(
            `SELECT ${columns} FROM responses WHERE id = ? AND org_id = ? AND expires_at > ?`,
            [next, orgId, now],
          );
          if (!row) return { links, end: 'gone' };
          links.push(toResponse(row));
          chars += row.input.length + row.body.length;
          next = row.previous_id;
        }
        return { links, end: 'whole' };
      }),

    async finish(id, { status, body, pieces }) {
      const finished = await db.all(
        `UPDATE responses SET status = ?, body = ?, pieces = ?, alive_until = NULL
         WHERE id = ? AND alive_until IS NOT NULL RETURNING id`,
        [status, body, pieces, id],
      );
      return finished.length > 0;
    },

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
        `SELECT ${columns} FROM responses WHERE alive_until <= ? ORDER BY alive_until, id LIMIT ?`,
        [now, limit],
      );
      return rows.map(toResponse);
    },

    async remove(orgId, id, now) {
      const removed = await db.all(
        'DELETE FROM responses WHERE id = ? AND org_id = ? AND expires_at > ? RETURNING id',
        [id, orgId, now],
      );
      return removed.length > 0;
    },

    async removeExpired(now, limit) {
      const removed = await db.all(
        `DELETE FROM responses WHERE id IN (
           SELECT id FROM responses WHERE expires_at <= ? AND alive_until IS NULL
           ORDER BY expires_at, id LIMIT ? ${db.skip}) RETURNING id`,
        [now, limit],
      );
      return removed.length;
    },
  };
}

async function insertSlice(q: Pick<Queries, 'all'>, slice: StoredResponse[]): Promise<void> {
  const values = tuples(slice.length, names.length);
  await q.all(`INSERT INTO responses (${columns}) VALUES ${values}`, slice.flatMap(toRow));
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
    response.pieces,
    response.input,
    response.body,
  ];
}

function toResponse(row: ResponseRow): StoredResponse {
  return {
    id: row.id,
    orgId: row.org_id,
    status: row.status,
    previousId: row.previous_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    aliveUntil: row.alive_until,
    input: row.input,
    body: row.body,
    pieces: row.pieces,
  };
}
