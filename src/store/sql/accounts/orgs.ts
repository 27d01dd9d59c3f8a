import type { Org } from '../../../core/org.ts';
import type { Db } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';
import { tableOf } from '../table.ts';
import { changedSettings } from './settings.ts';
import { noteUsedUp, spentBudgets } from './spending.ts';

interface BudgetColumns {
  budget: number | null;
  budgetPeriod: string | null;
  usedUpAt: number | null;
}

const orgs = tableOf<Org & BudgetColumns, keyof BudgetColumns>('orgs', {
  json: ['limits'],
  unread: ['budget', 'budgetPeriod', 'usedUpAt'],
})('id name createdAt limits weight disabledAt budget budgetPeriod usedUpAt');

export function createOrgs(db: Db): OrgStore {
  return {
    async insert(org, budget) {
      await orgs.insert(db, [
        { ...org, budget: budget?.amount ?? null, budgetPeriod: budget?.period ?? null, usedUpAt: null },
      ]);
    },
    get: (id) => orgs.first(db, { id }),
    list: () => orgs.all(db, {}, 'ORDER BY id'),
    update: (id, { name, weight, budget, ...changes }, now) =>
      db.tx(async (q) => {
        const before = await orgs.first(q, { id }, q.forUpdate);
        if (!before) return undefined;
        const changed = budget === null ? { amount: null, period: null } : budget;
        const [org] = await orgs.update(
          q,
          {
            name,
            weight,
            ...changedSettings(before, changes, now),
            budget: changed?.amount,
            budgetPeriod: changed?.period,
            usedUpAt: budget === null ? null : undefined,
          },
          { id },
        );
        return org;
      }),
    budgets: (now) => spentBudgets(db, now),
    noteUsedUp: (now) => noteUsedUp(db, now),
  };
}
