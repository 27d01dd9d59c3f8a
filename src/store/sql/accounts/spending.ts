import { type BudgetOwner, isUsedUp as isSpent, type SpentBudget, utcMonth } from '../../../core/budget.ts';
import type { Queries } from '../../db.ts';
import type { LedgerRow } from '../../contract/accounts.ts';
import { slices, tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';
import { addEvent } from '../webhooks/deliveries.ts';

/** Tables with budgets. */
type Owner = 'orgs' | 'api_keys';

/** SQL: spending of a row of `owner` against its budget; the parameter is the month. */
const spentOf = (owner: Owner) => `(SELECT COALESCE(sum(s.amount), 0) FROM spending s
  WHERE s.org_id = ${owner}.id AND s.month = CASE ${owner}.budget_period WHEN 'month' THEN ? ELSE s.month END)`;

/** SQL condition on a column of ids: a hard budget of the org or key is used up. The parameter is the month. */
export function isUsedUp(column: string, owner: Owner = 'orgs'): string {
  return `EXISTS (SELECT 1 FROM ${owner} WHERE ${owner}.id = ${column} AND ${owner}.budget_hard = 1
    AND ${owner}.budget <= ${spentOf(owner)})`;
}

interface SpentRow extends Omit<SpentBudget, 'spent' | 'hard'> {
  spent: string;
  hard: number;
}

/** Budgets of all orgs and keys, or of one org and key. Sums are read as text: they may exceed a number. */
export async function spentBudgets(q: Queries, billedAt: number, only?: BudgetOwner): Promise<SpentBudget[]> {
  const month = utcMonth(billedAt);
  const select = (owner: Owner, orgId: string, keyId: string, where: Where) => {
    const asked = conditions(where);
    return q.all<SpentRow>(
      `SELECT ${orgId} AS "orgId", ${keyId} AS "keyId", budget AS amount, budget_period AS period, budget_hard AS hard,
         CAST(${spentOf(owner)} AS text) AS spent, used_up_at AS "usedUpAt"
       FROM ${owner} WHERE budget IS NOT NULL AND ${asked.sql} ORDER BY id`,
      [month, ...asked.params],
    );
  };
  const ofOrgs = await select('orgs', 'id', 'NULL', { 'id = ?': only?.orgId });
  const ofKeys = await select('api_keys', 'org_id', 'id', {
    'id = ?': only?.keyId,
    'revoked_at IS NULL': [],
  });
  return [...ofOrgs, ...ofKeys].map((row) => ({ ...row, spent: Number(row.spent), hard: row.hard === 1 }));
}

/**
 * Records which budgets are used up; the first process to see it sets the time and adds the event. Batches of orgs and keys that may
 * spend again get the time without a budget as a pause, so that their rate counts only the time in which they could run.
 */
export async function noteUsedUp(q: Queries, now: number, billedAt: number): Promise<void> {
  for (const budget of await spentBudgets(q, billedAt)) {
    if (isSpent(budget) === (budget.usedUpAt !== null)) continue;
    const owner: Owner = budget.keyId === null ? 'orgs' : 'api_keys';
    const id = budget.keyId ?? budget.orgId;
    const changed = await q.all(
      `UPDATE ${owner} SET used_up_at = CAST(? AS bigint) WHERE id = ? AND (used_up_at IS NULL) = ${isSpent(budget) ? 'TRUE' : 'FALSE'}
       RETURNING id`,
      [isSpent(budget) ? now : null, id],
    );
    if (changed.length === 0) continue;
    if (isSpent(budget)) await addEvent(q, budget.orgId, 'budget.reached', id, now);
    else if (budget.hard !== false) await addWait(q, budget, budget.usedUpAt!, now);
  }
}

/** Counts the time from `since` on as a pause of the batches that had begun. */
async function addWait(q: Queries, { orgId, keyId }: SpentBudget, since: number, now: number): Promise<void> {
  const where = conditions({ 'org_id = ?': orgId, 'key_id = ?': keyId ?? undefined });
  await q.all(
    `UPDATE batches SET paused_ms = paused_ms + CAST(? AS bigint)
       - CASE WHEN in_progress_at > ? THEN in_progress_at ELSE CAST(? AS bigint) END
     WHERE ${where.sql} AND status = 'in_progress' AND closing IS NULL AND paused_at IS NULL`,
    [now, since, since, ...where.params],
  );
}

/** Copies the monthly sums of a key to its successor. */
export async function copySpending(q: Queries, from: string, to: string): Promise<void> {
  await q.all(
    `INSERT INTO spending (org_id, month, amount)
     SELECT CAST(? AS text), month, amount FROM spending WHERE org_id = ?`,
    [to, from],
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
