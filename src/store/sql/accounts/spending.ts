import {
  type BudgetOwner,
  isUsedUp as isSpent,
  type SpentBudget,
  spenderOf,
  utcMonth,
} from '../../../core/budget.ts';
import { familyOf } from '../../../core/key-family.ts';
import type { Queries } from '../../db.ts';
import type { LedgerEntry } from '../../contract/accounts.ts';
import { open } from '../batches/queued-work.ts';
import { slices, tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';
import { addEvent } from '../webhooks/deliveries.ts';
import { addWait } from './budget-waits.ts';
import { familyMembers } from './families.ts';

/** Tables with budgets. */
type Owner = 'orgs' | 'api_keys';

/** SQL: id under which the spending of a row of `owner` counts. */
const spenderIn = { orgs: 'orgs.id', api_keys: 'COALESCE(api_keys.family, api_keys.id)' } as const;

/** SQL: spending of a row of `owner` against its budget; the parameter is the month. */
const spentOf = (owner: Owner) => `(SELECT COALESCE(sum(s.amount), 0) FROM spending s
  WHERE s.org_id = ${spenderIn[owner]} AND s.month = CASE ${owner}.budget_period WHEN 'month' THEN ? ELSE s.month END)`;

/** SQL condition on a column of ids: a hard budget of the org or key is used up. The parameter is the month. */
export function isUsedUp(column: string, owner: Owner = 'orgs'): string {
  return `EXISTS (SELECT 1 FROM ${owner} WHERE ${owner}.id = ${column} AND ${owner}.budget_hard = 1
    AND ${owner}.budget <= ${spentOf(owner)})`;
}

interface SpentRow extends Omit<SpentBudget, 'spent' | 'hard'> {
  spent: string;
  hard: number;
}

/** SQL condition on keys: they may spend, themselves or by the unfinished batches of their family. */
const maySpend = `(revoked_at IS NULL OR EXISTS (SELECT 1 FROM batches b
  WHERE COALESCE(b.key_family, b.key_id) = ${spenderIn.api_keys} AND b.${open}))`;

/**
 * Budgets of all orgs and families of keys that may spend, or of one org and key. Sums are read as text: they may exceed a number.
 */
export async function spentBudgets(q: Queries, billedAt: number, only?: BudgetOwner): Promise<SpentBudget[]> {
  const month = utcMonth(billedAt);
  const select = (owner: Owner, fields: string, where: Where) => {
    const condition = conditions(where);
    return q.all<SpentRow>(
      `SELECT ${fields}, budget AS amount, budget_period AS period, budget_hard AS hard,
         CAST(${spentOf(owner)} AS text) AS spent, used_up_at AS "usedUpAt"
       FROM ${owner} WHERE budget IS NOT NULL AND ${condition.sql} ORDER BY id`,
      [month, ...condition.params],
    );
  };
  const ofOrgs = await select('orgs', 'id AS "orgId", NULL AS "keyId", NULL AS "keyFamily"', {
    'id = ?': only?.orgId,
  });
  const ofKeys = await select('api_keys', 'org_id AS "orgId", id AS "keyId", family AS "keyFamily"', {
    'id = ?': only?.keyId,
    [maySpend]: only === undefined ? [] : undefined,
  });
  const budgets = [...ofOrgs, ...ofKeys].map((row) => ({
    ...row,
    spent: Number(row.spent),
    hard: row.hard === 1,
  }));
  // The keys of a family have one budget: the newest stands for it.
  return [...new Map(budgets.map((budget) => [spenderOf(budget), budget])).values()];
}

/**
 * Records which budgets are used up; the first process to see it sets the time and adds the event. Batches of orgs and keys that may
 * spend again get the time without a budget as a pause, so that their rate counts only the time in which they could run.
 */
export async function noteUsedUp(q: Queries, now: number, billedAt: number): Promise<void> {
  for (const budget of await spentBudgets(q, billedAt)) {
    if (isSpent(budget) === (budget.usedUpAt !== null)) continue;
    if (!(await setUsedUpAt(q, budget, isSpent(budget) ? now : null))) continue;
    if (isSpent(budget)) await addEvent(q, budget.orgId, 'budget.reached', budget.keyId ?? budget.orgId, now);
    else if (budget.hard !== false) await addWait(q, budget, budget.usedUpAt!, now);
  }
}

/** False if another process was first. */
async function setUsedUpAt(q: Queries, budget: SpentBudget, at: number | null): Promise<boolean> {
  const [owner, members]: [Owner, Where] =
    budget.keyId === null ? ['orgs', { id: budget.orgId }] : ['api_keys', familyMembers(spenderOf(budget))];
  const where = conditions({
    ...members,
    [`(used_up_at IS NULL) = ${at === null ? 'FALSE' : 'TRUE'}`]: [],
  });
  // In one lock order for all processes.
  if (owner === 'api_keys')
    await q.all(`SELECT id FROM api_keys WHERE ${where.sql} ORDER BY id ${q.forUpdate}`, where.params);
  const changed = await q.all(
    `UPDATE ${owner} SET used_up_at = CAST(? AS bigint) WHERE ${where.sql} RETURNING id`,
    [at, ...where.params],
  );
  return changed.length > 0;
}

/**
 * Adds ledger entries to the monthly sums of orgs and families of keys (`org_id` holds the id of either), last in the transaction, so
 * that row locks are short; in one lock order.
 */
export async function addSpending(
  q: Queries,
  entries: readonly (Pick<LedgerEntry, 'orgId' | 'keyId' | 'keyFamily' | 'day'> & { amount: number })[],
): Promise<void> {
  const sums = new Map<string, number>();
  for (const { orgId, keyId, keyFamily, day, amount } of entries) {
    const spenders = keyId === null ? [orgId] : [orgId, familyOf({ keyId, keyFamily })];
    for (const spender of amount === 0 ? [] : spenders) {
      const key = `${spender} ${day.slice(0, 7)}`;
      sums.set(key, (sums.get(key) ?? 0) + amount);
    }
  }
  const sorted = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const slice of slices(sorted))
    await q.all(
      `INSERT INTO spending (org_id, month, amount) VALUES ${tuples(slice.length, 3)}
       ON CONFLICT (org_id, month) DO UPDATE SET amount = spending.amount + excluded.amount`,
      slice.flatMap(([key, amount]) => [...key.split(' '), amount]),
    );
}
