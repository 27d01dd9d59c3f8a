import { type AuditStamp, changedFields } from '../../../core/audit.ts';
import type { Org } from '../../../core/org.ts';
import { budgetSettings, orgSettings } from '../../../core/settings.ts';
import type { Db, Queries } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';
import { tableOf } from '../table.ts';
import { append } from './audit.ts';
import { type BudgetColumns, budgetOf, changedBudget, columnsOf } from './budget-columns.ts';
import { addWait } from './budget-waits.ts';
import { keyset, namesOf } from './keyset.ts';
import { changedSettings } from './settings.ts';
import { noteUsedUp, spentBudgets } from './spending.ts';

interface OrgRow extends Org, BudgetColumns {}

const rows = tableOf<OrgRow>('orgs', { json: ['limits'] })(
  'id name createdAt limits weight disabledAt budget budgetPeriod budgetHard usedUpAt',
);

export function createOrgs(db: Db): OrgStore {
  return {
    insert: (org, budget, stamp) =>
      db.tx(async (q) => {
        const row: OrgRow = { ...org, ...columnsOf(budget ?? null) };
        await rows.insert(q, [row]);
        const change = {
          action: 'org.create',
          target: org.id,
          before: null,
          after: settingsOf(row),
        } as const;
        if (stamp) await append(q, stamp, change);
      }),

    async get(id) {
      const row = await rows.first(db, { id });
      return row && toOrg(row);
    },
    list: async (page) => (await rows.all(db, ...keyset(page))).map(toOrg),
    names: (ids) => namesOf(db, 'orgs', ids),

    update: (id, { name, weight, budget, ...changes }, now, stamp) =>
      db.tx(async (q) => {
        const before = await rows.first(q, { id }, q.forUpdate);
        if (!before) return undefined;
        const set = { name, weight, ...changedSettings(before, changes, now), ...changedBudget(budget) };
        const [after] = await rows.update(q, set, { id });
        if (budget === null && before.usedUpAt !== null && before.budgetHard === 1)
          await addWait(q, { orgId: id, keyId: null }, before.usedUpAt, now);
        await appendUpdate(q, stamp, before, after!);
        return toOrg(after!);
      }),

    disabled: () =>
      db.all('SELECT id, disabled_at AS "disabledAt" FROM orgs WHERE disabled_at IS NOT NULL ORDER BY id'),
    budgets: (billedAt, only) => spentBudgets(db, billedAt, only),
    noteUsedUp: (now, billedAt = now) => db.tx((q) => noteUsedUp(q, now, billedAt)),
  };
}

async function appendUpdate(q: Queries, stamp: AuditStamp | undefined, before: OrgRow, after: OrgRow) {
  const changed = changedFields(settingsOf(before), settingsOf(after));
  if (stamp && changed) await append(q, stamp, { action: 'org.update', target: after.id, ...changed });
}

function settingsOf(row: OrgRow) {
  const budget = budgetOf(row);
  return { ...orgSettings(row), budget: budget && budgetSettings(budget) };
}

function toOrg(row: OrgRow): Org {
  const { budget: _, budgetPeriod: _period, budgetHard: _hard, usedUpAt: _at, ...org } = row;
  return org;
}

/** SQL condition on a column of org ids: the org is disabled. */
export function isDisabled(column: string): string {
  return `EXISTS (SELECT 1 FROM orgs o WHERE o.id = ${column} AND o.disabled_at IS NOT NULL)`;
}
