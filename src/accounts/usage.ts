import { dayMs, utcDay } from '../base/clock.ts';
import { heavySlices } from '../base/loop-slices.ts';
import { sortSteps } from '../base/sort-steps.ts';
import type { SpentBudget } from '../core/budget.ts';
import type {
  UsageCursor,
  UsageGroup,
  UsageQuery,
  UsageReport,
  UsageRow,
  UsageSum,
} from '../core/usage-report.ts';
import { addUsage, noUsage } from '../core/usage.ts';
import type { KeyStore, LedgerStore, OrgStore } from '../store/contract/accounts.ts';

/** Rows that are added in one turn of the event loop: some tenths of a millisecond. */
const stepRows = 200;

type Ledger = Pick<LedgerStore, 'usage'>;

/** Returns one page of usage, and with the first page the total. @param owner org that asks */
export async function readUsage(ledger: Ledger, query: UsageQuery, owner = ''): Promise<UsageReport> {
  const { after, limit } = query;
  if (after === undefined) {
    const { rows: all, total } = await sumGroups(ledger, query, owner);
    return { rows: all.slice(0, limit), total, hasMore: all.length > limit };
  }
  const rows: UsageRow[] = [];
  for (const span of spansAfter(after, query)) {
    const { rows: found } = await sumGroups(ledger, { ...query, ...span }, owner, after);
    rows.push(...found.slice(0, limit + 1));
    if (rows.length > limit) break;
  }
  return { rows: rows.slice(0, limit), total: null, hasMore: rows.length > limit };
}

/** Names of the orgs and keys of a report, by id. */
export async function namesIn(
  { orgs, keys }: { orgs: Pick<OrgStore, 'names'>; keys: Pick<KeyStore, 'names'> },
  { groups }: UsageQuery,
  rows: readonly UsageRow[],
  budgets: readonly SpentBudget[],
  orgId?: string,
): Promise<Map<string, string>> {
  const valuesOf = (group: UsageGroup) => {
    const at = groups.indexOf(group);
    return at < 0 ? [] : rows.map(({ groupValues }) => groupValues[at]!);
  };
  const orgIds = [...valuesOf('org'), ...budgets.map((budget) => budget.orgId), orgId ?? ''];
  const keyIds = [...valuesOf('key'), ...budgets.map(({ keyId }) => keyId ?? '')];
  const unique = (ids: readonly string[]) => [...new Set(ids)].filter((id) => id !== '');
  return new Map([...(await orgs.names(unique(orgIds))), ...(await keys.names(unique(keyIds)))]);
}

/**
 * Yields the spans of days that hold the rows behind `after`. Spans double, because the number of days that fill a page is unknown.
 * Unless rows are ordered by day, any row may have usage on every day, so there is one span.
 */
function* spansAfter(
  after: readonly string[],
  { start, before, groups }: UsageQuery,
): Generator<Pick<UsageQuery, 'start' | 'before'>> {
  if (groups[0] !== 'day') return yield { start, before };
  const end = Date.parse(before);
  let from = Date.parse(start);
  while (from < end && utcDay(from) < after[0]!) from += dayMs;
  for (let days = 1; from < end; from += days * dayMs, days *= 2)
    yield { start: utcDay(from), before: utcDay(Math.min(from + days * dayMs, end)) };
}

/** Sums all parts of the ledger by group, in ascending order. @param after leaves out the groups up to this one */
async function sumGroups(
  ledger: Ledger,
  query: UsageQuery,
  owner: string,
  after: readonly string[] = [],
): Promise<{ rows: UsageRow[]; total: UsageSum }> {
  const sums = new Map<string, UsageRow>();
  let total: UsageSum = { ...noUsage, requests: 0, amount: 0n };

  function* addRows(rows: readonly UsageRow[]): Generator<undefined, void> {
    for (const [n, row] of rows.entries()) {
      if (n > 0 && n % stepRows === 0) yield;
      total = add(total, row);
      if (after.length > 0 && compare(row.groupValues, after) <= 0) continue;
      const key = JSON.stringify(row.groupValues);
      const known = sums.get(key);
      sums.set(key, known ? { groupValues: row.groupValues, ...add(known, row) } : row);
    }
  }

  let from: UsageCursor | undefined;
  do {
    const part = await ledger.usage(query, from);
    await heavySlices.run(owner, addRows(part.rows));
    from = part.next ?? undefined;
  } while (from);
  const sorting = sortSteps([...sums.values()], (a, b) => compare(a.groupValues, b.groupValues));
  return { rows: await heavySlices.run(owner, sorting), total };
}

function add(a: UsageSum, b: UsageSum): UsageSum {
  return { ...addUsage(a, b), requests: a.requests + b.requests, amount: a.amount + b.amount };
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((value, n) => value !== b[n]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
