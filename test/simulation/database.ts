import type { Clock } from '../../src/base/clock.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore, type StoreOperations } from '../../src/store/sql/sql-store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import type { Db } from '../../src/store/db.ts';

/** The real SQL on a database in memory, open to questions that no store answers. */
export interface Database {
  store: StoreOperations;
  db: Db;
  /** Begins a new world on the same database, whose time is `clock`'s from now on. */
  reset(clock: Clock): Promise<void>;
  close(): Promise<void>;
}

export async function openDatabase(): Promise<Database> {
  let clock: Pick<Clock, 'now'> = { now: () => 0 };
  const db = openSqlite(':memory:', { now: () => clock.now() });
  await migrate(db);
  const tables = await db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_version'",
  );
  const deleteAll = tables.map(({ name }) => `DELETE FROM ${name};`).join('');
  return {
    store: createSqlStore(db),
    db,
    async reset(next) {
      clock = next;
      await db.exec(deleteAll);
    },
    close: () => db.close(),
  };
}
