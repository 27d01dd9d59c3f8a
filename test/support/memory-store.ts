import type { Clock } from '../../src/base/clock.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';

export interface MemoryStore extends Store {
  /** Deletes all rows; cheaper than a new store. */
  reset(): Promise<void>;
}

/**
 * Creates an in-memory store in this thread for simulations and unit tests. Every operation settles within microtasks,
 * without timers or event loop turns.
 */
export function createMemoryStore({ clock }: { clock: Clock }): MemoryStore {
  const db = openSqlite(':memory:', clock);
  let started: Promise<void> | undefined;
  let deleteAll = '';

  const begin = async () => {
    await migrate(db);
    const tables = await db.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('schema_version', 'schema_support')",
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
