import type { Log } from '../../base/log.ts';
import type { Db } from '../db.ts';
import { migrate } from '../migrations/migrate.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../../core/store-error.ts';
import { migrationBounds, openPostgres } from './db.ts';
import { nameOf } from './errors.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq writes it. */
  url: string;
  log: Log;
}

/**
 * The store of many processes on many machines. `start` connects and brings the schema up to date; of several processes
 * that start together one does it while the others wait.
 * @throws StoreError from `start`, when the database cannot be reached or used
 */
export function createPostgresStore({ url, log }: PostgresStoreOptions): Store {
  const db = openPostgres(url, log);
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  const begin = async () => {
    await requireServer(db, url);
    await migrateWith(openPostgres(url, log, migrationBounds));
    log.info({ database: nameOf(url) }, 'Connected to the database.');
  };
  const end = async () => {
    await started?.catch(() => {});
    await db.close();
  };

  return {
    ...createSqlStore(db),
    start: () => (started ??= begin()),
    stop: () => (stopped ??= end()),
  };
}

async function migrateWith(db: Db): Promise<void> {
  try {
    await migrate(db);
  } finally {
    await db.close();
  }
}

const leastVersion = 14;

async function requireServer(db: Db, url: string): Promise<void> {
  const [server] = await db.all<{ version: string; encoding: string }>(
    "SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding",
  );
  const version = Math.floor(Number(server!.version) / 10_000);
  if (version < leastVersion)
    throw new StoreError(
      'unsupported',
      `The database ${nameOf(url)} is Postgres ${version}.`,
      `Offpeak needs Postgres ${leastVersion} or newer.`,
    );
  if (server!.encoding !== 'UTF8')
    throw new StoreError(
      'unsupported',
      `The database ${nameOf(url)} is encoded in ${server!.encoding}.`,
      "Make it anew with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
    );
}
