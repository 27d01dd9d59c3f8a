import type { Org } from '../../../core/org.ts';
import type { Db, Value } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';
import { spentBudgets } from './spending.ts';

interface OrgRow {
  id: string;
  name: string;
  created_at: number;
}

const toOrg = (row: OrgRow): Org => ({ id: row.id, name: row.name, createdAt: row.created_at });

export function createOrgs(db: Db): OrgStore {
  return {
    async insert(org, budget) {
      await db.all('INSERT INTO orgs (id, name, created_at, budget, budget_period) VALUES (?, ?, ?, ?, ?)', [
        org.id,
        org.name,
        org.createdAt,
        budget?.amount ?? null,
        budget?.period ?? null,
      ]);
    },
    async get(id) {
      const [row] = await db.all<OrgRow>('SELECT id, name, created_at FROM orgs WHERE id = ?', [id]);
      return row && toOrg(row);
    },
    async list() {
      return (await db.all<OrgRow>('SELECT id, name, created_at FROM orgs ORDER BY id')).map(toOrg);
    },
    async update(id, { name, budget }) {
      const changes: [string, Value][] = [];
      if (name !== undefined) changes.push(['name', name]);
      if (budget !== undefined)
        changes.push(['budget', budget && budget.amount], ['budget_period', budget && budget.period]);
      const set = changes.map(([column]) => `${column} = ?`).join(', ') || 'name = name';
      const [row] = await db.all<OrgRow>(
        `UPDATE orgs SET ${set} WHERE id = ? RETURNING id, name, created_at`,
        [...changes.map(([, value]) => value), id],
      );
      return row && toOrg(row);
    },
    budgets: (now) => spentBudgets(db, now),
  };
}
