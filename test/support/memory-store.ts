import type { Clock } from '../../src/base/clock.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';

export interface MemoryStore extends Store {
  /** Forgets everything, cheaper than a new store. */
  reset(): Promise<void>;
}

/**
 * A store in this thread and in memory, for simulations and unit tests. Every operation settles within microtasks: no
 * timer, no turn of the event loop.
 */
export function createMemoryStore({ clock }: { clock: Clock }): MemoryStore {
  const db = openSqlite(':memory:', clock);
  let started: Promise<void> | undefined;
  let deleteAll = '';

  const begin = async () => {
    await migrate(db);
    const tables = await db.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('schema_version')",
    );
    deleteAll = tables.map(({ name }) => `DELETE FROM ${name};`).join('');
  };

  return {
    ...createSqlStore(db),
    start: () => (started ??= begin()),
    async stop() {
      await started?.catch(() => {});
      await db.close();
    },
    reset: () => db.exec(deleteAll),
  };
}
