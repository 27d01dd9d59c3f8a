import type { UsagePlace, UsageQuery, UsageReport, UsageRow, UsageSum } from '../core/usage-report.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';

/** The parts of the ledger added up, and the page that was asked for. */
export async function readUsage(ledger: Pick<LedgerStore, 'usage'>, query: UsageQuery): Promise<UsageReport> {
  const sums = new Map<string, UsageRow>();
  const total: UsageSum = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, amount: 0n };
  let from: UsagePlace | undefined;
  do {
    const part = await ledger.usage(query, from);
    for (const row of part.rows) {
      add(total, row);
      const key = JSON.stringify(row.of);
      const known = sums.get(key);
      if (known) add(known, row);
      else sums.set(key, row);
    }
    from = part.next ?? undefined;
  } while (from);
  const { after, limit } = query;
  const rows = [...sums.values()]
    .filter(({ of }) => after === undefined || compare(of, after) > 0)
    .toSorted((a, b) => compare(a.of, b.of));
  return { rows: rows.slice(0, limit), total, hasMore: rows.length > limit };
}

function add(sum: UsageSum, more: UsageSum): void {
  sum.requests += more.requests;
  sum.inputTokens += more.inputTokens;
  sum.cachedTokens += more.cachedTokens;
  sum.outputTokens += more.outputTokens;
  sum.amount += more.amount;
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((value, n) => value !== b[n]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
