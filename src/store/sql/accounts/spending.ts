import { type SpentBudget, utcMonth } from '../../../core/budget.ts';
import type { Queries } from '../../db.ts';
import type { LedgerRow } from '../../contract/accounts.ts';
import { slices, tuples } from '../statement.ts';
import { conditions } from '../table.ts';

/** SQL: spending of an org `o` against its budget; the parameter is the month. */
const spent = `(SELECT COALESCE(sum(s.amount), 0) FROM spending s
  WHERE s.org_id = o.id AND s.month = CASE o.budget_period WHEN 'month' THEN ? ELSE s.month END)`;

/** SQL condition on a column of org ids: the budget is used up. The parameter is the month. */
export function isUsedUp(column: string): string {
  return `EXISTS (SELECT 1 FROM orgs o WHERE o.id = ${column} AND o.budget <= ${spent})`;
}

/** Budgets of all orgs, or of one. Sums are read as text: they may exceed a number. */
export async function spentBudgets(q: Queries, now: number, orgId?: string): Promise<SpentBudget[]> {
  const asked = conditions({ 'o.budget IS NOT NULL': [], 'o.id = ?': orgId });
  const rows = await q.all<Omit<SpentBudget, 'spent'> & { spent: string }>(
    `SELECT o.id AS "orgId", o.budget AS amount, o.budget_period AS period, CAST(${spent} AS text) AS spent,
       o.used_up_at AS "usedUpAt"
     FROM orgs o WHERE ${asked.sql} ORDER BY o.id`,
    [utcMonth(now), ...asked.params],
  );
  return rows.map((row) => ({ ...row, spent: Number(row.spent) }));
}

/** Records which budgets are used up; the first process to see it sets the time. */
export async function noteUsedUp(q: Queries, now: number): Promise<void> {
  await q.all(
    `UPDATE orgs SET used_up_at = CASE WHEN used_up_at IS NULL THEN CAST(? AS bigint) END
     WHERE (used_up_at IS NULL) = ${isUsedUp('orgs.id')}`,
    [now, utcMonth(now)],
  );
}

/** Adds ledger entries to the monthly sums of orgs and keys (`org_id` holds the id of either), last in the transaction, so that row locks are short; in one lock order. */
export async function addSpending(
  q: Queries,
  entries: readonly Pick<LedgerRow, 'orgId' | 'keyId' | 'day' | 'amount'>[],
): Promise<void> {
  const sums = new Map<string, number>();
  for (const { orgId, keyId, day, amount } of entries)
    for (const owner of amount ? [orgId, keyId] : [])
      if (owner !== null) {
        const key = `${owner} ${day.slice(0, 7)}`;
        sums.set(key, (sums.get(key) ?? 0) + amount!);
      }
  const sorted = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const slice of slices(sorted))
    await q.all(
      `INSERT INTO spending (org_id, month, amount) VALUES ${tuples(slice.length, 3)}
       ON CONFLICT (org_id, month) DO UPDATE SET amount = spending.amount + excluded.amount`,
      slice.flatMap(([key, amount]) => [...key.split(' '), amount]),
    );
}
