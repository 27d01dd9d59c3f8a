import type { StoredResponse } from '../../../core/response.ts';
import type { Db } from '../../db.ts';
import type { Answered, ChainLink, ResponseSide, ResponseStore } from '../../contract/responses.ts';
import { appendAll } from './conversations.ts';
import { columnsOf } from '../columns.ts';
import { inLists, slices, tuples } from '../statement.ts';
import { createExpiring, isThere } from './expiring.ts';
import { addBytes } from './stored-bytes.ts';

const columns = columnsOf<Answered>()(
  'id orgId status previousId createdAt expiresAt aliveUntil saidBytes output body pieces',
);

/** Of all its texts. Neither database reads them for it. */
const bytesOfRow = `octet_length(input) + octet_length(output) + octet_length(body)
  + COALESCE(octet_length(pieces), 0)`;

export function createResponses(db: Db): ResponseStore {
  const { find, remove, removeExpired } = createExpiring<Answered>(db, {
    table: 'responses',
    columns,
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
          await q.all(
            `INSERT INTO responses (${columns.names}, input) VALUES ${tuples(slice.length, columns.count + 1)}`,
            slice.flatMap((response) => [...columns.values(response), response.input]),
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

    get: find,

    // Link by link through the primary key: a recursive statement would walk all of a chain that is to be cut.
    chain: (orgId, id, now, most) =>
      db.tx(async (q) => {
        const links: ChainLink[] = [];
        let bytes = 0;
        for (let next: string | null = id; next !== null;) {
          if (next.startsWith('conv_')) return { links, end: 'conversation' };
          if (links.length === most.links) return { links, end: 'long' };
          const [row]: Pick<Answered, 'status' | 'previousId' | 'saidBytes'>[] = await q.all(
            `SELECT status, previous_id AS "previousId", said_bytes AS "saidBytes" FROM responses WHERE ${isThere}`,
            [next, orgId, now],
          );
          if (!row) return { links, end: 'gone' };
          const { status, saidBytes } = row;
          links.push({ id: next, status, saidBytes });
          bytes += saidBytes;
          if (bytes > most.bytes) return { links, end: 'large' };
          next = row.previousId;
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
      return db.all(
        `SELECT ${columns.fields} FROM responses WHERE alive_until <= ? ORDER BY alive_until, id LIMIT ?`,
        [now, limit],
      );
    },

    remove,
    removeExpired,
  };
}

function bytesOf({ input, output, body, pieces }: StoredResponse): number {
  return [input, output, body, pieces ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
