import { utcMonth } from '../../../core/budget.ts';
import type { Queries } from '../../db.ts';
import type { ClaimOptions } from '../../contract/claim.ts';
import { isDisabled } from '../accounts/orgs.ts';
import { isUsedUp } from '../accounts/spending.ts';
import { isPaused } from '../controls.ts';
import { paddedSlices, typedTuples } from '../statement.ts';

/**
 * Orgs with ready chunks in the order of their turns, on an index. `queue_shares.ready` is 1 for each of them, because triggers set it
 * with the chunks. It may be 1 for others as well: a claim clears it when it meets one.
 */

/** Waiting work of an org under one name of a model. */
export interface ReadyOrg {
  name: string;
  orgId: string;
  /** Virtual time at which the org stands under this name. */
  place: number;
  /** Virtual time up to which the org was served; null if it never was. */
  served: number | null;
  weight: number | null;
}

interface Row extends ReadyOrg {
  isIdle: number;
}

/** Names of a model, and how many of its orgs a claim needs under each. */
export interface AskedName {
  name: string;
  model: string;
  count: number;
}

/** Rows that are read at a time. */
const rowsAtOnce = { min: 16, max: 512 };
/** SQLite allows 500 terms in a UNION. */
const maxTerms = 256;

/**
 * The first orgs of each name that are enabled, with an available budget and without a pause by an operator. `idle` are those that
 * have no ready chunks any more.
 */
export async function readyOrgs(
  q: Queries,
  asked: readonly AskedName[],
  { exhausted = [], now, billedAt = now }: ClaimOptions,
): Promise<{ found: ReadyOrg[]; idle: ReadyOrg[] }> {
  const skipped = new Set(exhausted);
  const found: ReadyOrg[] = [];
  const idle: ReadyOrg[] = [];
  let open = asked.map((each) => ({ ...each, place: -1, orgId: '' }));
  let max = rowsAtOnce.min;
  while (open.length > 0) {
    max = Math.min(Math.max(max, powerOfTwo(Math.max(...open.map(({ count }) => count)))), rowsAtOnce.max);
    const rows = await readPages(q, open, max, utcMonth(billedAt));
    const next: typeof open = [];
    for (const page of open) {
      const ofPage = rows.get(page.name) ?? [];
      for (const row of ofPage) {
        if (row.isIdle === 1) idle.push(row);
        else if (!skipped.has(row.orgId)) {
          found.push(row);
          page.count--;
        }
      }
      const last = ofPage.at(-1);
      if (last && ofPage.length === max && page.count > 0)
        next.push({ ...page, place: last.place, orgId: last.orgId });
    }
    open = next;
    max *= 2;
  }
  return { found, idle };
}

/**
 * Rows of each name after a place. The limit is part of the statement: for an unknown one, Postgres would plan anew each time, which
 * takes longer than the read.
 */
async function readPages(
  q: Queries,
  pages: readonly (AskedName & { place: number; orgId: string })[],
  max: number,
  month: string,
): Promise<Map<string, Row[]>> {
  const term = `SELECT * FROM (
      SELECT share.model AS name, share.org_id AS "orgId", share.served AS place,
        (SELECT own.served FROM queue_shares own WHERE own.model = ? AND own.org_id = share.org_id) AS served,
        (SELECT o.weight FROM orgs o WHERE o.id = share.org_id) AS weight,
        CASE WHEN ${hasReady('share')} THEN 0 ELSE 1 END AS "isIdle"
      FROM queue_shares share
      WHERE share.model = ? AND share.ready = 1 AND (share.served, share.org_id) > (?, ?)
        AND NOT ${isUsedUp('share.org_id')} AND NOT ${isDisabled('share.org_id')}
        AND NOT ${isPaused('share.model', 'share.org_id')}
      ORDER BY share.served, share.org_id LIMIT ${max}) AS page`;
  const found = new Map<string, Map<string, Row>>();
  // Padding repeats a name, so rows are deduplicated.
  for (const slice of paddedSlices(pages, maxTerms)) {
    const rows = await q.all<Row>(
      slice.map(() => term).join(' UNION ALL '),
      slice.flatMap(({ name, model, place, orgId }) => [model, name, place, orgId, month]),
    );
    for (const row of rows) {
      const ofName = found.get(row.name) ?? new Map<string, Row>();
      found.set(row.name, ofName.set(row.orgId, row));
    }
  }
  return new Map([...found].map(([name, ofName]) => [name, [...ofName.values()]]));
}

/** SQL condition on a row of `queue_shares`: the org has a ready chunk. A minimum is read from the index, whatever the statistics say. */
function hasReady(share: string): string {
  return `(SELECT min(c.due) FROM batch_chunks c WHERE c.model = ${share}.model AND c.org_id = ${share}.org_id
    AND c.state = 'ready' AND c.seq > 0) IS NOT NULL`;
}

/**
 * Takes orgs without ready chunks out of the order. The lock comes first, in a statement of its own: a transaction that makes a chunk
 * ready either holds the row, which is then skipped, or has ended, so that the second statement sees its chunk.
 */
export async function clearIdle(
  q: Queries,
  idle: readonly Pick<ReadyOrg, 'name' | 'orgId'>[],
): Promise<void> {
  const named = (count: number) => `(model, org_id) IN (VALUES ${typedTuples(count, ['text', 'text'])})`;
  for (const slice of paddedSlices(idle, rowsAtOnce.max)) {
    const params = slice.flatMap(({ name, orgId }) => [name, orgId]);
    const locked = await q.all<{ model: string; org_id: string }>(
      `SELECT model, org_id FROM queue_shares WHERE ${named(slice.length)} ${q.skipLocked}`,
      params,
    );
    for (const cleared of paddedSlices(locked, rowsAtOnce.max))
      await q.all(
        `UPDATE queue_shares SET ready = 0 WHERE ${named(cleared.length)} AND NOT (${hasReady('queue_shares')})`,
        cleared.flatMap(({ model, org_id }) => [model, org_id]),
      );
  }
}

function powerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(least));
}
