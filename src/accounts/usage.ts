import { dayMs, utcDay } from '../base/clock.ts';
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

type Ledger = Pick<LedgerStore, 'usage'>;

/** Returns one page of usage, and with the first page the total. */
export async function readUsage(ledger: Ledger, query: UsageQuery): Promise<UsageReport> {
  const { after, limit } = query;
  if (after === undefined) {
    const all = await sumGroups(ledger, query);
    const total = all.reduce(add, { ...noUsage, requests: 0, amount: 0n });
    return { rows: all.slice(0, limit), total, hasMore: all.length > limit };
  }
  const rows: UsageRow[] = [];
  for (const span of spansAfter(after, query)) {
    for (const row of await sumGroups(ledger, { ...query, ...span }))
      if (compare(row.groupValues, after) > 0) rows.push(row);
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

/** Sums all parts of the ledger by group, in ascending order. */
async function sumGroups(ledger: Ledger, query: UsageQuery): Promise<UsageRow[]> {
  const sums = new Map<string, UsageRow>();
  let from: UsageCursor | undefined;
  do {
    const part = await ledger.usage(query, from);
    for (const row of part.rows) {
      const key = JSON.stringify(row.groupValues);
      const known = sums.get(key);
      sums.set(key, known ? { groupValues: row.groupValues, ...add(known, row) } : row);
    }
    from = part.next ?? undefined;
  } while (from);
  return [...sums.values()].toSorted((a, b) => compare(a.groupValues, b.groupValues));
}

function add(a: UsageSum, b: UsageSum): UsageSum {
  return { ...addUsage(a, b), requests: a.requests + b.requests, amount: a.amount + b.amount };
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((value, n) => value !== b[n]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
