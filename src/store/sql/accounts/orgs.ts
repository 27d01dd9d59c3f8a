import type { Org } from '../../../core/org.ts';
import type { Db } from '../../db.ts';
import type { OrgStore } from '../../contract/accounts.ts';

interface OrgRow {
  id: string;
  name: string;
  created_at: number;
}

const toOrg = (row: OrgRow): Org => ({ id: row.id, name: row.name, createdAt: row.created_at });

export function createOrgs(db: Db): OrgStore {
  return {
    async insert(org) {
      await db.all('INSERT INTO orgs (id, name, created_at) VALUES (?, ?, ?)', [
        org.id,
        org.name,
        org.createdAt,
      ]);
    },
    async get(id) {
      const [row] = await db.all<OrgRow>('SELECT id, name, created_at FROM orgs WHERE id = ?', [id]);
      return row && toOrg(row);
    },
    async list() {
      return (await db.all<OrgRow>('SELECT id, name, created_at FROM orgs ORDER BY id')).map(toOrg);
    },
  };
}
