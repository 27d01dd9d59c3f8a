import type { Db, Queries } from '../db.ts';
import type { InstallationStore } from '../store.ts';

export async function readInstallation(q: Queries): Promise<string | undefined> {
  const [row] = await q.all<{ id: string }>('SELECT id FROM installation');
  return row?.id;
}

export function createInstallation(db: Db): InstallationStore {
  const id = () => readInstallation(db);
  return {
    id,
    async claim(wanted, now) {
      await db.all('INSERT INTO installation (one, id, made_at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING', [
        wanted,
        now,
      ]);
      return (await id())!;
    },
  };
}
