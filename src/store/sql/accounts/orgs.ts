import type { Org } from '../../../core/org.ts';
import type { Db, Value } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';
import { columnsOf } from '../columns.ts';
import { spentBudgets } from './spending.ts';

const columns = columnsOf<Org>()('id name createdAt');

export function createOrgs(db: Db): OrgStore {
  return {
    async insert(org, budget) {
      await db.all(`INSERT INTO orgs (${columns.names}, budget, budget_period) VALUES (?, ?, ?, ?, ?)`, [
        ...columns.values(org),
        budget?.amount ?? null,
        budget?.period ?? null,
      ]);
    },
    async get(id) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM orgs WHERE id = ?`, [id]);
      return row && columns.read(row);
    },
    async list() {
      return (await db.all(`SELECT ${columns.fields} FROM orgs ORDER BY id`)).map(columns.read);
    },
    async update(id, { name, budget }) {
      const changes: [string, Value][] = [];
      if (name !== undefined) changes.push(['name', name]);
      if (budget !== undefined)
        changes.push(['budget', budget && budget.amount], ['budget_period', budget && budget.period]);
      const set = changes.map(([column]) => `${column} = ?`).join(', ') || 'name = name';
      const [row] = await db.all(`UPDATE orgs SET ${set} WHERE id = ? RETURNING ${columns.fields}`, [
        ...changes.map(([, value]) => value),
        id,
      ]);
      return row && columns.read(row);
    },
    budgets: (now) => spentBudgets(db, now),
  };
}
