import type { Log } from '../../base/log.ts';
import type { Db } from '../db.ts';
import { migrate } from '../migrations/migrate.ts';
import { eachOperation, type PriorityClass } from '../sql/priority-classes.ts';
import { createSqlStore, type StoreOperations } from '../sql/sql-store.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../../core/store-error.ts';
import { migrationPool, openPostgres, type PoolOptions, defaultTimeLimits, defaultPool } from './db.ts';
import { nameOf } from './errors.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq writes it. */
  url: string;
  log: Log;
}

/**
 * Connections of their own for each lane, ten together. A beat that was lost leaves time for another one before the leases
 * of the process end.
 */
const shares: Record<PriorityClass, PoolOptions> = {
  beat: { connections: 1, bounds: { connect: 8_000, statement: 7_000, lock: 5_000, answer: 8_000 } },
  record: { connections: 1, bounds: defaultTimeLimits },
  engine: { connections: 3, bounds: defaultTimeLimits },
  request: defaultPool,
};

/**
 * The store of many processes on many machines. `start` connects and brings the schema up to date; of several processes
 * that start together one does it while the others wait.
 * @throws StoreError from `start`, when the database cannot be reached or used
 */
export function createPostgresStore({ url, log }: PostgresStoreOptions): Store {
  const dbs = Object.entries(shares).map(([lane, share]) => ({ lane, db: openPostgres(url, log, share) }));
  const stores = Object.fromEntries(dbs.map(({ lane, db }) => [lane, createSqlStore(db)])) as Record<
    PriorityClass,
    StoreOperations
  >;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  const begin = async () => {
    const db = openPostgres(url, log, migrationPool);
    try {
      const { isOwn, keepsNames } = await db.session();
      if (!isOwn) log.info({ prepared_statements: keepsNames }, behindPooler);
      await requireServer(db, url);
      await migrate(db);
    } finally {
      await db.close();
    }
    log.info({ database: nameOf(url) }, 'Connected to the database.');
  };
  const end = async () => {
    await started?.catch(() => {});
    await Promise.all(dbs.map(({ db }) => db.close()));
  };

  return {
    ...eachOperation((group, name, lane) => Reflect.get(stores[lane][group], name)),
    ping: stores.request.ping,
    scrub: stores.request.scrub,
    start: () => (started ??= begin()),
    stop: () => (stopped ??= end()),
  };
}

const behindPooler = 'The database is behind a pooler: every transaction sets its time limits again.';

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
