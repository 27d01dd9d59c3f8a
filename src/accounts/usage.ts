import type { UsagePlace, UsageQuery, UsageReport, UsageRow, UsageSum } from '../core/usage-report.ts';
import { addUsage, noUsage } from '../core/usage.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';

/** The parts of the ledger added up, and the page that was asked for. */
export async function readUsage(ledger: Pick<LedgerStore, 'usage'>, query: UsageQuery): Promise<UsageReport> {
  const sums = new Map<string, UsageRow>();
  let total: UsageSum = { ...noUsage, requests: 0, amount: 0n };
  let from: UsagePlace | undefined;
  do {
    const part = await ledger.usage(query, from);
    for (const row of part.rows) {
      total = add(total, row);
      const key = JSON.stringify(row.of);
      const known = sums.get(key);
      sums.set(key, known ? { of: row.of, ...add(known, row) } : row);
    }
    from = part.next ?? undefined;
  } while (from);
  const { after, limit } = query;
  const rows = [...sums.values()]
    .filter(({ of }) => after === undefined || compare(of, after) > 0)
    .toSorted((a, b) => compare(a.of, b.of));
  return { rows: rows.slice(0, limit), total, hasMore: rows.length > limit };
}

function add(a: UsageSum, b: UsageSum): UsageSum {
  return { ...addUsage(a, b), requests: a.requests + b.requests, amount: a.amount + b.amount };
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((value, n) => value !== b[n]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
