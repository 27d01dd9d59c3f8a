import { dayMs, utcDay } from '../base/clock.ts';
import { heavySlices } from '../base/loop-slices.ts';
import { sortSteps } from '../base/sort-steps.ts';
import type { SpentBudget } from '../core/budget.ts';
import type { UsageCursor, UsageQuery, UsageReport, UsageRows, UsageSum } from '../core/usage-report.ts';
import { groupKey, UsageSums } from '../core/usage-sums.ts';
import type { KeyStore, LedgerStore, OrgStore } from '../store/contract/accounts.ts';

type Ledger = Pick<LedgerStore, 'usage'>;

/** Returns one page of usage, and with the first page the total. @param owner org that asks */
export async function readUsage(ledger: Ledger, query: UsageQuery, owner = ''): Promise<UsageReport> {
  const { after, limit } = query;
  const last = after && groupKey(after);
  const isWanted = (key: string) => last === undefined || key > last;
  const sums = new UsageSums();
  let keys: string[] = [];
  for (const span of spansOf(query)) {
    const known = sums.size;
    await addAll(ledger, { ...query, ...span }, owner, sums, isWanted);
    const sorting = sortSteps(sums.keys(known), (a, b) => (a < b ? -1 : 1));
    keys = [...keys, ...(await heavySlices.run(owner, sorting))];
    if (keys.length > limit) break;
  }
  const rows = sums.rows(keys.slice(0, limit));
  const hasMore = keys.length > limit;
  if (after) return { rows, total: null, hasMore };
  return { rows, total: hasMore ? await totalOf(ledger, query, owner) : sums.total, hasMore };
}

/** Without groups, which takes far fewer sums than the groups of all pages. */
async function totalOf(ledger: Ledger, query: UsageQuery, owner: string): Promise<UsageSum> {
  const sums = new UsageSums();
  await addAll(ledger, { ...query, groups: [] }, owner, sums, () => true);
  return sums.total;
}

async function addAll(
  ledger: Ledger,
  query: UsageQuery,
  owner: string,
  sums: UsageSums,
  isWanted: (key: string) => boolean,
): Promise<void> {
  for (let from: UsageCursor | undefined, isDone = false; !isDone;) {
    const { columns, next } = await ledger.usage(query, from);
    for (const each of columns) await heavySlices.run(owner, sums.add(each, isWanted));
    if (next) from = next;
    else isDone = true;
  }
}

/** Rows whose names are collected in one turn of the event loop. */
const stepRows = 500;

/** Names of the orgs and keys of a report, by id. */
export async function namesIn(
  { orgs, keys }: { orgs: Pick<OrgStore, 'names'>; keys: Pick<KeyStore, 'names'> },
  { groups }: UsageQuery,
  rows: UsageRows,
  budgets: readonly SpentBudget[],
  owner: string,
  orgId?: string,
): Promise<Map<string, string>> {
  const orgIds = new Set([...budgets.map((budget) => budget.orgId), orgId ?? '']);
  const keyIds = new Set(budgets.map(({ keyId }) => keyId ?? ''));
  const found = [
    { ids: orgIds, at: groups.indexOf('org') },
    { ids: keyIds, at: groups.indexOf('key') },
  ].filter(({ at }) => at >= 0);
  const collect = function* (): Generator<undefined> {
    for (let from = 0; from < rows.length; from += stepRows) {
      for (const { groupValues } of rows.slice(from, from + stepRows))
        for (const { ids, at } of found) ids.add(groupValues[at]!);
      yield;
    }
  };
  if (found.length > 0) await heavySlices.run(owner, collect());
  const known = (ids: Set<string>) => [...ids].filter((id) => id !== '');
  return new Map([...(await orgs.names(known(orgIds))), ...(await keys.names(known(keyIds)))]);
}

/**
 * Yields the spans of days that hold the rows behind `after`. Spans double, because the number of days that fill a page is unknown.
 * Unless rows are ordered by day, any row may have usage on every day, so there is one span.
 */
function* spansOf({
  start,
  before,
  groups,
  after,
}: UsageQuery): Generator<Pick<UsageQuery, 'start' | 'before'>> {
  if (groups[0] !== 'day') return yield { start, before };
  const end = Date.parse(before);
  let from = Date.parse(start);
  while (from < end && utcDay(from) < (after?.[0] ?? '')) from += dayMs;
  for (let days = 1; from < end; from += days * dayMs, days *= 2)
    yield { start: utcDay(from), before: utcDay(Math.min(from + days * dayMs, end)) };
}
