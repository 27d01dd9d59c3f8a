import type { Db } from '../db.ts';
import type { InstallationStore } from '../store.ts';

export function createInstallation(db: Db): InstallationStore {
  const id = async () => {
    const [row] = await db.all<{ id: string }>('SELECT id FROM installation');
    return row?.id;
  };
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
