import type { StoredResponse } from '../../../core/response.ts';
import type { Db, Queries } from '../../db.ts';
import type {
  ResponseWithoutInput,
  ChainLink,
  ResponseSide,
  ResponseStore,
} from '../../contract/responses.ts';
import { appendAll } from './conversations.ts';
import { allIn } from '../statement.ts';
import { tableOf } from '../table.ts';
import { addStored, type StorageChange } from '../storage.ts';
import { createExpiring, owner, unexpired } from './expiring.ts';

const responses = tableOf<StoredResponse, 'input'>('responses', { unread: ['input'] })(
  'id orgId keyId status previousId createdAt expiresAt aliveUntil saidBytes input output body pieces',
);

/** Columns for following a chain, without texts. */
type Link = Pick<StoredResponse, 'status' | 'previousId' | 'saidBytes'>;

const links = tableOf<Link>('responses')('status previousId saidBytes');

/** SQL: size of all texts, which neither database reads for it. */
export const bytesOfResponse = `octet_length(input) + octet_length(output) + octet_length(body)
  + COALESCE(octet_length(pieces), 0)`;

/** Inserts responses, and returns what they add to the quotas. */
export async function insertResponses(q: Queries, made: readonly StoredResponse[]): Promise<StorageChange[]> {
  await responses.insert(q, [...made]);
  return made.map((response) => {
    const { orgId, keyId } = response;
    return { orgId, keyId, bytes: bytesOf(response), responses: 1 };
  });
}

export function createResponses(db: Db): ResponseStore {
  const { find, remove, removeExpired } = createExpiring<ResponseWithoutInput>(db, {
    name: 'responses',
    table: responses,
    bytes: bytesOfResponse,
    sweepable: 'alive_until IS NULL',
  });

  async function bySide<T>(
    what: string,
    orgId: string,
    ids: string[],
    now: number,
  ): Promise<Record<string, T>> {
    const rows = await allIn<{ id: string; value: T }>(
      db,
      ids,
      (list) =>
        `SELECT id, ${what} AS value FROM responses WHERE id IN ${list} AND org_id = ? AND expires_at > ?`,
      (list) => [...list, orgId, now],
    );
    return Object.fromEntries(rows.map(({ id, value }) => [id, value]));
  }

  return {
    insert: (made, said = []) =>
      db.tx(async (q) => {
        const own = await insertResponses(q, made);
        return addStored(q, [...own, ...(await appendAll(q, said))]);
      }),

    get: find,

    // Link by link: a recursive statement would read the whole chain before a limit applies.
    chain: (orgId, id, now, most) =>
      db.tx(async (q) => {
        const found: ChainLink[] = [];
        let bytes = 0;
        for (let next: string | null = id; next !== null;) {
          if (next.startsWith('conv_')) return { links: found, end: 'conversation' };
          if (found.length === most.links) return { links: found, end: 'long' };
          const row: Link | undefined = await links.first(q, unexpired(orgId, next, now));
          if (!row) return { links: found, end: 'gone' };
          const { status, saidBytes } = row;
          found.push({ id: next, status, saidBytes });
          bytes += saidBytes;
          if (bytes > most.bytes) return { links: found, end: 'large' };
          next = row.previousId;
        }
        return { links: found, end: 'whole' };
      }),

    sizes: (orgId, side: ResponseSide, ids, now) => bySide(`octet_length(${side})`, orgId, ids, now),
    texts: (orgId, side: ResponseSide, ids, now) => bySide(side, orgId, ids, now),

    finish: (id, { status, output, body, pieces }, said) =>
      db.tx(async (q) => {
        const [before] = await q.all<{ orgId: string; keyId: string | null; bytes: number }>(
          `SELECT ${owner}, ${bytesOfResponse} AS bytes FROM responses WHERE id = ? AND alive_until IS NOT NULL ${q.forUpdate}`,
          [id],
        );
        if (!before) return false;
        const [after] = await q.all<{ bytes: number }>(
          `UPDATE responses SET status = ?, output = ?, body = ?, pieces = ?, said_bytes = said_bytes + ?,
           alive_until = NULL WHERE id = ? RETURNING ${bytesOfResponse} AS bytes`,
          [status, output, body, pieces, Buffer.byteLength(output), id],
        );
        const added = await appendAll(q, said ? [said] : []);
        await addStored(q, [{ ...before, bytes: after!.bytes - before.bytes }, ...added]);
        return true;
      }),

    async renew(ids, aliveUntil) {
      const rows = await allIn<{ id: string }>(
        db,
        ids,
        (list) =>
          `UPDATE responses SET alive_until = ? WHERE id IN ${list} AND alive_until IS NOT NULL RETURNING id`,
        (list) => [aliveUntil, ...list],
      );
      return rows.map((row) => row.id);
    },

    abandoned: (now, limit) =>
      responses.all(db, { 'alive_until <= ?': now }, 'ORDER BY alive_until, id LIMIT ?', [limit]),

    remove,
    removeExpired,
  };
}

function bytesOf({ input, output, body, pieces }: StoredResponse): number {
  return [input, output, body, pieces ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
