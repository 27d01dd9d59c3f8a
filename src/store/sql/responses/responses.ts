import type { StoredResponse } from '../../../core/response.ts';
import type { AnswerRows } from '../../../core/stored-answer.ts';
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
  'id orgId keyId status previousId createdAt expiresAt aliveUntil requestId saidBytes input output body pieces',
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
    insert: (made, additions = []) =>
      db.tx(async (q) =>
        addStored(q, [...(await insertResponses(q, made)), ...(await appendAll(q, additions))]),
      ),

    get: find,

    async idOf(orgId, requestId, now) {
      const rows = await db.all<{ id: string }>(
        'SELECT id FROM responses WHERE request_id = ? AND org_id = ? AND expires_at > ?',
        [requestId, orgId, now],
      );
      return rows[0]?.id;
    },

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

    finish: (id, end, addition) =>
      db.tx(async (q) => {
        const change = await finishResponse(q, { id, end });
        if (!change) return false;
        await addStored(q, [change, ...(await appendAll(q, addition ? [addition] : []))]);
        return true;
      }),

    abandoned: (now, limit) =>
      responses.all(db, { 'alive_until <= ?': now, requestId: null }, 'ORDER BY alive_until, id LIMIT ?', [
        limit,
      ]),

    remove,
    removeExpired,
  };
}

/** Finishes a response. Returns what that changes; undefined if it is finished or missing. */
export async function finishResponse(
  q: Queries,
  { id, end: { status, output, body, pieces } }: NonNullable<AnswerRows['ended']>,
): Promise<StorageChange | undefined> {
  const [before] = await q.all<{ orgId: string; keyId: string | null; bytes: number }>(
    `SELECT ${owner}, ${bytesOfResponse} AS bytes FROM responses WHERE id = ? AND alive_until IS NOT NULL ${q.forUpdate}`,
    [id],
  );
  if (!before) return undefined;
  const [after] = await q.all<{ bytes: number }>(
    `UPDATE responses SET status = ?, output = ?, body = ?, pieces = ?, said_bytes = said_bytes + ?,
     alive_until = NULL WHERE id = ? RETURNING ${bytesOfResponse} AS bytes`,
    [status, output, body, pieces, Buffer.byteLength(output), id],
  );
  return { ...before, bytes: after!.bytes - before.bytes };
}

function bytesOf({ input, output, body, pieces }: StoredResponse): number {
  return [input, output, body, pieces ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
