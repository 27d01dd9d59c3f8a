import type { Clock } from '../../src/base/clock.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore, type StoreOperations } from '../../src/store/sql/sql-store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import type { Db } from '../../src/store/db.ts';
import { beginAudit } from './audit.ts';
import { type LockedDb, watchLocks } from './locked-db.ts';
import { rememberReads } from './remembered-reads.ts';

/** Store on a SQLite database in memory, which the simulation can also query directly. */
export interface Database {
  store: StoreOperations;
  db: Db & { readonly writes: number };
  locks: LockedDb;
  /** Empties the database for a new world with this clock. */
  reset(clock: Clock): Promise<void>;
  close(): Promise<void>;
}

export async function openDatabase(): Promise<Database> {
  let clock: Pick<Clock, 'now'> = { now: () => 0 };
  const db = rememberReads(openSqlite(':memory:', { now: () => clock.now() }));
  await migrate(db);
  // In memory there is nothing to scrub or to sync.
  await db.exec('PRAGMA secure_delete = OFF; PRAGMA synchronous = OFF');
  const tables = await db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_version'",
  );
  await beginAudit(db);
  const deleteAll = [...tables, { name: 'audit' }].map(({ name }) => `DELETE FROM ${name};`).join('');
  const locks = watchLocks(db);
  return {
    store: createSqlStore(locks.db),
    db,
    locks,
    async reset(next) {
      clock = next;
      locks.rewrite = undefined;
      locks.tell = () => {};
      await db.exec(deleteAll);
    },
    close: () => db.close(),
  };
}
