import type { ReadyChunk } from '../../../../core/fair-queueing.ts';
import { lateBefore } from '../../../../core/urgency.ts';
import type { Queries, Value } from '../../../db.ts';
import type { ClaimOptions, ClaimRequest } from '../../../contract/claim.ts';
import { headOf } from './ready-orgs.ts';
import { allIn, inLists, paddedSlices, tuples, typedTuples } from '../../statement.ts';

/** Queries of the queue, on the index of ready chunks only: there are no counters that could be wrong. */

/**
 * Names of `wanted` that ready chunks have. A minimum is read from the index; for any row, Postgres would scan the table, which takes long
 * for a name without ready chunks.
 */
export async function readyNames(q: Queries, wanted: readonly ClaimRequest[]): Promise<string[]> {
  const names = wanted.flatMap((each) => each.names);
  if (names.length === 0) return [];
  const rows = await q.all<{ model: string }>(
    `WITH asked(model) AS (VALUES ${tuples(names.length, 1)})
     SELECT model FROM asked
     WHERE (SELECT min(c.org_id) FROM batch_chunks c WHERE c.model = asked.model AND c.state = 'ready' AND c.seq > 0) IS NOT NULL`,
    names,
  );
  return rows.map(({ model }) => model);
}

/**
 * Names under which a claim beyond the minimums finds chunks: an org has a ready chunk more urgent than those already claimed, or an
 * org without claimed lines has a ready or a late chunk.
 */
export async function namesBeyond(q: Queries, wanted: readonly ClaimRequest[]): Promise<string[]> {
  const found = new Set<string>();
  const asked = wanted.flatMap(({ names, claimedDue: before, moreOrgs, moreLateOrgs = 0 }) => {
    const orgs = Object.entries(before);
    // The first org of all follows the empty id.
    const all = moreOrgs + moreLateOrgs > 0 ? [['', 0] as const, ...orgs] : orgs;
    return names.flatMap((name) => all.map(([orgId, due]) => [name, orgId, due] as const));
  });
  const requestOf = new Map(wanted.flatMap((each) => each.names.map((name) => [name, each])));
  for (const slice of paddedSlices(asked, 256)) {
    const rows = await q.all<{ name: string; earlier: number; next: string | null; late: number }>(
      `WITH asked(name, org_id, due) AS (VALUES ${typedTuples(slice.length, ['text', 'text', 'bigint'])})
       SELECT name,
         CASE WHEN (SELECT min(c.due) FROM batch_chunks c
           WHERE c.model = asked.name AND c.org_id = asked.org_id AND c.state = 'ready' AND c.seq > 0) < asked.due
           THEN 1 ELSE 0 END AS earlier,
         (SELECT min(c.org_id) FROM batch_chunks c
           WHERE c.model = asked.name AND c.org_id > asked.org_id AND c.state = 'ready' AND c.seq > 0) AS next,
         CASE WHEN org_id = '' AND EXISTS (SELECT 1 FROM queue_shares s WHERE s.model = asked.name AND s.ready = 1 AND s.late = 1
             AND NOT EXISTS (SELECT 1 FROM asked claimed WHERE claimed.name = s.model AND claimed.org_id = s.org_id)
             AND ${headOf('s')} < ${lateBefore}) THEN 1 ELSE 0 END AS late
       FROM asked`,
      slice.flat(),
    );
    for (const { name, earlier, next, late } of rows) {
      const { claimedDue, moreOrgs, moreLateOrgs = 0 } = requestOf.get(name)!;
      const isNew = moreOrgs > 0 && next !== null && !Object.hasOwn(claimedDue, next);
      if (earlier === 1 || isNew || (moreLateOrgs > 0 && late === 1)) found.add(name);
    }
  }
  return [...found];
}

/** State of the queue of a model. */
export interface QueueClock {
  virtualTime: number;
  /** Tokens that late work took ahead of its turn (core/late-work.ts). */
  owed: number;
}

/** Locks and returns the state of each queue: one process at a time chooses among the orgs of a model. */
export async function lockQueues(q: Queries, models: string[]): Promise<Map<string, QueueClock>> {
  const clocks = new Map<string, QueueClock>();
  const read = async () => {
    const text = (list: string) =>
      `SELECT model, virtual_time AS "virtualTime", owed FROM queues WHERE model IN ${list} ORDER BY model ${q.forUpdate}`;
    const rows = await allIn<QueueClock & { model: string }>(q, models.toSorted(), text);
    for (const { model, ...clock } of rows) clocks.set(model, clock);
  };
  await read();
  if (clocks.size === models.length) return clocks;
  await q.all(
    `INSERT INTO queues (model, virtual_time) VALUES ${tuples(models.length, 2)} ON CONFLICT (model) DO NOTHING`,
    models.toSorted().flatMap((model) => [model, 0]),
  );
  await read();
  return clocks;
}

interface HeadRow extends ReadyChunk {
  model: string;
}

/** SQLite allows 500 terms in a UNION. */
const maxTerms = 256;

/** First `look` ready chunks of each queue within their windows, in order. */
export async function readyHeads(
  q: Queries,
  queues: readonly { name: string; orgId: string }[],
  look: number,
  options: ClaimOptions,
): Promise<Map<string, ReadyChunk[]>> {
  const filter = idFilter('c.batch_id', options);
  const spent = spentKeys(options);
  const term = `SELECT * FROM (
      SELECT c.batch_id AS "batchId", c.seq, c.model, c.org_id AS "orgId", c.due, c.n AS lines, c.est, c.kills
      FROM batch_chunks c
      WHERE c.model = ? AND c.org_id = ? AND c.state = 'ready' AND c.seq > 0
        AND (SELECT b.expires_at FROM batches b WHERE b.id = c.batch_id) > ?
        ${filter.and} ${spent.and}
      ORDER BY c.due, c.batch_id, c.kills, c.seq LIMIT ?) AS heads`;
  const rows: HeadRow[] = [];
  // Padding repeats a queue, so chunks are deduplicated below.
  for (const asked of paddedSlices(queues, maxTerms)) {
    const headRows = await q.all<HeadRow>(
      `${filter.with}${spent.with(filter.with)} ${asked.map(() => term).join(' UNION ALL ')}`,
      [
        ...filter.params,
        ...spent.params,
        ...asked.flatMap(({ name, orgId }) => [name, orgId, options.now, look]),
      ],
    );
    rows.push(...headRows);
  }
  const heads = new Map<string, Map<string, ReadyChunk>>();
  // Many rows: each becomes a chunk in place, without a copy.
  for (const row of rows) {
    const key = `${row.model} ${row.orgId}`;
    const ofQueue = heads.get(key) ?? new Map<string, ReadyChunk>();
    heads.set(key, ofQueue.set(`${row.batchId}/${row.seq}`, row));
  }
  return new Map([...heads].map(([key, ofQueue]) => [key, [...ofQueue.values()]]));
}

/** SQL condition on chunks `c`: the budget of the family of the key has room. Skipping the orgs is up to the caller. */
function spentKeys({ exhausted = [] }: ClaimOptions) {
  const keys = exhausted.filter((id) => id.startsWith('key_'));
  if (keys.length === 0) return { with: () => '', and: '', params: [] };
  return {
    with: (before: string) =>
      `${before === '' ? 'WITH' : ','} spent(id) AS (VALUES ${tuples(keys.length, 1)})`,
    and: 'AND (SELECT COALESCE(b.key_family, b.key_id) FROM batches b WHERE b.id = c.batch_id) NOT IN (SELECT id FROM spent)',
    params: keys,
  };
}

/** SQL condition on a column of batch ids. */
export function idFilter(
  column: string,
  { only, except }: Pick<ClaimOptions, 'only' | 'except'>,
): { with: string; and: string; params: Value[] } {
  const [list] = inLists(only ?? except ?? []);
  if (!list) return { with: '', and: '', params: [] };
  return {
    with: `WITH named(id) AS (VALUES ${tuples(list.params.length, 1)})`,
    and: `AND ${column} ${only ? '' : 'NOT'} IN (SELECT id FROM named)`,
    params: list.params,
  };
}
