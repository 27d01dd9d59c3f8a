import type { Org } from '../../../core/org.ts';
import type { Db } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';
import { tableOf } from '../table.ts';
import { spentBudgets } from './spending.ts';

interface OrgRow extends Org {
  budget: number | null;
  budgetPeriod: string | null;
}

const orgs = tableOf<OrgRow, 'budget' | 'budgetPeriod'>('orgs', { unread: ['budget', 'budgetPeriod'] })(
  'id name createdAt budget budgetPeriod',
);

export function createOrgs(db: Db): OrgStore {
  return {
    async insert(org, budget) {
      await orgs.insert(db, [
        { ...org, budget: budget?.amount ?? null, budgetPeriod: budget?.period ?? null },
      ]);
    },
    get: (id) => orgs.first(db, { id }),
    list: () => orgs.all(db, {}, 'ORDER BY id'),
    async update(id, { name, budget }) {
      const changed = budget === null ? { amount: null, period: null } : budget;
      const changes = { name, budget: changed?.amount, budgetPeriod: changed?.period };
      const [org] = await orgs.update(db, changes, { id });
      return org;
    },
    budgets: (now) => spentBudgets(db, now),
  };
}
