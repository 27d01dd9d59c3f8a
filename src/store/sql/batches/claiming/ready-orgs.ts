import { utcMonth } from '../../../../core/budget.ts';
import { isLate, lateBefore } from '../../../../core/urgency.ts';
import type { Queries } from '../../../db.ts';
import type { ClaimOptions } from '../../../contract/claim.ts';
import { isDisabled } from '../../accounts/orgs.ts';
import { isUsedUp } from '../../accounts/spending.ts';
import { isPaused } from '../../controls.ts';
import { paddedSlices, typedTuples } from '../../statement.ts';

/**
 * Orgs with ready chunks in the order of their turns, on an index, and those with late chunks on another. `queue_shares.ready` and `late`
 * are 1 for each of them, because triggers set them with the chunks. They may be 1 for others as well: a claim clears them when it meets
 * one.
 */

/** Waiting work of an org under one name of a model. */
export interface ReadyOrg {
  name: string;
  orgId: string;
  /** Virtual time of the org under this name. */
  place: number;
  /** Virtual time up to which the org was served; null if it never was. */
  served: number | null;
  weight: number | null;
  /** Lowest `due` of its ready chunks; null if it has none. */
  head: number | null;
}

interface Row extends ReadyOrg {
  late: number;
  ofLate: number;
}

/** Name of a model, and how many of its orgs a claim needs under it, of all and of those with late chunks. */
export interface WantedName {
  name: string;
  model: string;
  count: number;
  lateCount: number;
}

/** Read of the orgs of a name, after a place in their order. */
interface Page extends Pick<WantedName, 'name' | 'model' | 'count'> {
  ofLate: 0 | 1;
  /** Number of rows to read. */
  max: number;
  place: number;
  orgId: string;
}

/** Rows that are read at a time. */
const rowsAtOnce = { min: 16, max: 512 };
/** SQLite allows 500 terms in a UNION. */
const maxTerms = 256;

/**
 * The first orgs of each name, and the first with late chunks, that are enabled, with an available budget and without a pause by an
 * operator. `stale` are those that have no ready or late chunks any more.
 */
export async function readyOrgs(
  q: Queries,
  names: readonly WantedName[],
  { exhausted = [], now, billedAt = now }: ClaimOptions,
): Promise<{ found: ReadyOrg[]; stale: ReadyOrg[] }> {
  const skipped = new Set(exhausted);
  const found = new Map<string, ReadyOrg>();
  const stale: ReadyOrg[] = [];
  let open = [
    ...names.map(({ name, model, count }) => firstPage({ name, model, count, ofLate: 0 })),
    ...names.map(({ name, model, lateCount }) => firstPage({ name, model, count: lateCount, ofLate: 1 })),
  ];
  while (open.length > 0) {
    const rows = await readPages(q, open, utcMonth(billedAt));
    const next: Page[] = [];
    for (const page of open) {
      const ofPage = rows.get(keyOf(page)) ?? [];
      let { count } = page;
      for (const row of ofPage) {
        const isIdle = row.head === null;
        const isStale = isIdle || (row.late === 1 && !isLate(row.head!));
        if (isStale) stale.push(row);
        if (isIdle || (isStale && page.ofLate === 1) || skipped.has(row.orgId)) continue;
        found.set(`${row.name} ${row.orgId}`, row);
        count--;
      }
      const last = ofPage.at(-1);
      if (last && ofPage.length === page.max && count > 0)
        next.push({ ...page, count, max: atOnce(page.max * 2), place: last.place, orgId: last.orgId });
    }
    open = next;
  }
  return { found: [...found.values()], stale };
}

function firstPage(of: Pick<Page, 'name' | 'model' | 'count' | 'ofLate'>): Page {
  return { ...of, max: atOnce(of.count), place: -1, orgId: '' };
}

/** Number of rows to read for at least `count`: a power of two, which limits the number of prepared statements. */
function atOnce(count: number): number {
  return Math.min(rowsAtOnce.max, Math.max(rowsAtOnce.min, 2 ** Math.ceil(Math.log2(count))));
}

const keyOf = ({ name, ofLate }: Pick<Row, 'name' | 'ofLate'>) => `${ofLate} ${name}`;

/**
 * Rows of each page. The limit is part of the statement: for an unknown one, Postgres would plan anew each time, which takes longer than
 * the read.
 */
async function readPages(q: Queries, pages: readonly Page[], month: string): Promise<Map<string, Row[]>> {
  const term = ({ ofLate, max }: Page) => `SELECT * FROM (
      SELECT ${ofLate} AS "ofLate", share.model AS name, share.org_id AS "orgId", share.served AS place, share.late,
        (SELECT own.served FROM queue_shares own WHERE own.model = ? AND own.org_id = share.org_id) AS served,
        (SELECT o.weight FROM orgs o WHERE o.id = share.org_id) AS weight, ${headOf('share')} AS head
      FROM queue_shares share
      WHERE share.model = ? AND share.ready = 1 ${ofLate === 1 ? 'AND share.late = 1' : ''}
        AND (share.served, share.org_id) > (?, ?)
        AND NOT ${isUsedUp('share.org_id')} AND NOT ${isDisabled('share.org_id')}
        AND NOT ${isPaused('share.model', 'share.org_id')}
      ORDER BY share.served, share.org_id LIMIT ${max}) AS page`;
  const found = new Map<string, Map<string, Row>>();
  // Padding repeats a page, so rows are deduplicated.
  for (const slice of paddedSlices(pages, maxTerms)) {
    const rows = await q.all<Row>(
      slice.map(term).join(' UNION ALL '),
      slice.flatMap(({ name, model, place, orgId }) => [model, name, place, orgId, month]),
    );
    for (const row of rows) {
      const ofPage = found.get(keyOf(row)) ?? new Map<string, Row>();
      found.set(keyOf(row), ofPage.set(row.orgId, row));
    }
  }
  return new Map([...found].map(([key, ofPage]) => [key, [...ofPage.values()]]));
}

/** SQL: lowest `due` of the ready chunks of a row of `queue_shares`. A minimum is read from the index, whatever the statistics say. */
export function headOf(share: string): string {
  return `(SELECT min(c.due) FROM batch_chunks c WHERE c.model = ${share}.model AND c.org_id = ${share}.org_id
    AND c.state = 'ready' AND c.seq > 0)`;
}

/**
 * Takes orgs without ready chunks out of the order, and those without late chunks out of theirs. The lock comes first, in a statement of
 * its own: a transaction that makes a chunk ready or late either holds the row, which is then skipped, or has ended, so that the second
 * statement sees its chunk.
 */
export async function clearStale(
  q: Queries,
  stale: readonly Pick<ReadyOrg, 'name' | 'orgId'>[],
): Promise<void> {
  const named = (count: number) => `(model, org_id) IN (VALUES ${typedTuples(count, ['text', 'text'])})`;
  for (const slice of paddedSlices(stale, rowsAtOnce.max)) {
    const params = slice.flatMap(({ name, orgId }) => [name, orgId]);
    const locked = await q.all<{ model: string; org_id: string }>(
      `SELECT model, org_id FROM queue_shares WHERE ${named(slice.length)} ${q.skipLocked}`,
      params,
    );
    for (const cleared of paddedSlices(locked, rowsAtOnce.max))
      await q.all(
        `UPDATE queue_shares SET ready = CASE WHEN ${headOf('queue_shares')} IS NULL THEN 0 ELSE 1 END,
           late = CASE WHEN ${headOf('queue_shares')} < ${lateBefore} THEN 1 ELSE 0 END
         WHERE ${named(cleared.length)}`,
        cleared.flatMap(({ model, org_id }) => [model, org_id]),
      );
  }
}
