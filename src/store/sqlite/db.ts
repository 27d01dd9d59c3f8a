import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { Db, Queries, Value } from '../db.ts';
import { translate } from './errors.ts';
import { requireVersion } from './version.ts';

/**
 * Opens `path` (or `:memory:`) as a `Db`. Statements block their thread; calls are queued, so that a read never runs in another
 * call's transaction. Only microtasks are awaited, so that a simulated clock controls all timing.
 * @throws StoreError
 */
export function openSqlite(path: string, clock: Pick<Clock, 'now'>): Db {
  const connection = connect(path);
  const statements = new Map<string, StatementSync>();
  let tail: Promise<unknown> = Promise.resolve();

  const run = (sql: string, params: readonly Value[] = []) => {
    // SQLite plans for the value of a bare `LIMIT ?` and recompiles the statement at every run, which costs a hundred times
    // the read of a poll. An expression prevents that.
    const statement = statements.get(sql) ?? connection.prepare(sql.replaceAll('LIMIT ?', 'LIMIT ? + 0'));
    statements.set(sql, statement);
    return statement.all(...params);
  };

  const queries: Queries = {
    forUpdate: '',
    skipLocked: '',
    // Not async, so that the statement runs immediately; errors become rejections.
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
      // SQLite rolls back by itself on a full disk.
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
    // The log keeps old versions of pages until it restarts.
    scrub: () => enqueue(() => connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')),
    close: () =>
      enqueue(() => {
        if (connection.isOpen) connection.close();
      }),
  };
}

/** Creates the database for its owner only; SQLite copies its permissions to the other files. */
function makeForOwner(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // SQLite reports the problem.
  }
}

function connect(path: string): DatabaseSync {
  try {
    if (path !== ':memory:') makeForOwner(path);
    const connection = new DatabaseSync(path, { timeout: 5_000 });
    const { version } = connection.prepare('SELECT sqlite_version() AS version').get() as { version: string };
    requireVersion(version);
    // WAL with FULL: a commit is on the disk when it returns, and readers do not wait for it.
    // secure_delete overwrites deleted data; FAST would leave bodies of several pages.
    connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
      PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON`);
    return connection;
  } catch (error) {
    throw translate(error, path);
  }
}
