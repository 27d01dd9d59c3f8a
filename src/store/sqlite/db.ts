import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { Db, Queries, Value } from '../db.ts';
import { translate } from './errors.ts';
import { requireVersion } from './version.ts';

/**
 * Opens `path` (or `:memory:`) as a `Db`. Statements block the thread they run in; calls are queued, so that a read
 * never falls into another call's transaction. Nothing here waits for anything but microtasks, so a simulated clock
 * decides alone what happens when.
 * @throws StoreError
 */
export function openSqlite(path: string, clock: Pick<Clock, 'now'>): Db {
  const connection = connect(path);
  const statements = new Map<string, StatementSync>();
  let tail: Promise<unknown> = Promise.resolve();

  const run = (sql: string, params: readonly Value[] = []) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = connection.prepare(withPlanForAnyLimit(sql))));
    return statement.all(...params);
  };

  const queries: Queries = {
    forUpdate: '',
    skipLocked: '',
    // Not an async function: the statement runs at once, and a fault still arrives as a rejection.
    all: <Row extends object>(sql: string, params?: readonly Value[]) => {
      try {
        return Promise.resolve(run(sql, params) as unknown as Row[]);
      } catch (error) {
        return Promise.reject(translate(error, path));
      }
    },
  };

  const enqueue = <T>(work: () => T | Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => {});
    return done;
  };

  const transaction = async <T>(work: (q: Queries) => Promise<T>): Promise<T> => {
    try {
      run('BEGIN IMMEDIATE');
      const result = await work(queries);
      run('COMMIT');
      return result;
    } catch (error) {
      // A full disk has SQLite roll back by itself.
      if (connection.isTransaction) run('ROLLBACK');
      throw translate(error, path);
    }
  };

  return {
    forUpdate: '',
    skipLocked: '',
    types: {
      dialect: 'sqlite',
      blob: 'blob',
      text: 'text',
      frequentlyUpdated: '',
      snapshot: '',
      migrationLock: '',
    },
    all: (sql, params) => enqueue(() => queries.all(sql, params)),
    tx: (work) => enqueue(() => transaction(work)),
    exec: (sql) => enqueue(() => connection.exec(sql)),
    now: () => Promise.resolve(clock.now()),
    // The log keeps older versions of pages until it is begun anew.
    scrub: () => enqueue(() => connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')),
    close: () =>
      enqueue(() => {
        if (connection.isOpen) connection.close();
      }),
  };
}

/**
 * SQLite plans for the number bound to a bare `LIMIT ?`, and so compiles the statement anew at every run, which costs a
 * poll a hundred times what it reads. In an expression it does not look.
 */
function withPlanForAnyLimit(sql: string): string {
  return sql.replaceAll('LIMIT ?', 'LIMIT ? + 0');
}

/** SQLite gives its files the rights of the database, and a new one those that the umask leaves. */
function makeForOwner(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // What is wrong SQLite tells, in its own words.
  }
}

function connect(path: string): DatabaseSync {
  try {
    if (path !== ':memory:') makeForOwner(path);
    const connection = new DatabaseSync(path, { timeout: 5_000 });
    const { version } = connection.prepare('SELECT sqlite_version() AS version').get() as { version: string };
    requireVersion(version);
    // WAL with FULL: a commit is on the disk when it returns, and readers do not wait for it.
    // What is deleted is overwritten: FAST would leave bodies of several pages where they are.
    connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
      PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON`);
    return connection;
  } catch (error) {
    throw translate(error, path);
  }
}
