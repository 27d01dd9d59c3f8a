import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import { StallClock } from '../../base/stall-clock.ts';
import { systemClock } from '../../base/system.ts';
import { callOwner } from '../call-owner.ts';
import { parseDatabaseUrl } from '../../core/database-url.ts';
import type { Db } from '../db.ts';
import { migrate, newerSchemaWarning } from '../migrations/migrate.ts';
import { eachOperation, type PriorityClass } from '../sql/priority-classes.ts';
import { createSqlStore, type StoreOperations } from '../sql/sql-store.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../../core/store-error.ts';
import { migrationPool, openPostgres, type PoolOptions, defaultTimeLimits, defaultPool } from './db.ts';
import { nameOf } from './errors.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as for libpq. */
  url: string;
  /** Connections of this process, at least `minConnections`. */
  connections?: number;
  /** False to prepare no statements under a name. */
  prepare?: boolean;
  log: Log;
  clock?: Clock;
}

/** One connection for each priority class. */
export const minConnections = 5;
const usualConnections = 10;

/**
 * Pools of the priority classes. Clients and the batch engine share the connections beyond the first three. A failed heartbeat leaves
 * time for another before the leases end.
 */
export function sharesOf(connections: number): Record<PriorityClass, PoolOptions> {
  const engine = Math.max(1, Math.floor(((connections - 3) * 3) / 7));
  return {
    beat: { connections: 1, bounds: { connect: 8_000, statement: 7_000, lock: 5_000, answer: 8_000 } },
    record: { connections: 1, bounds: defaultTimeLimits },
    engine: { connections: engine, bounds: defaultTimeLimits },
    request: { ...defaultPool, connections: connections - 3 - engine },
    // Slices of scans of all orgs, one after the other.
    scan: { ...defaultPool, connections: 1 },
  };
}

/** Orgs take turns at the connections for clients; the pools serve their own queues in order of arrival. */
const gateOf = ({ connections }: PoolOptions) =>
  createFairGate({ capacity: connections, maxPerOwner: connections });

/**
 * Store shared by processes on several machines. `start` connects and migrates the schema; of processes that start together, one
 * migrates and the others wait.
 * @throws StoreError from `start`, if the database is unreachable or unusable
 */
export function createPostgresStore({
  url,
  connections = usualConnections,
  prepare = true,
  log,
  clock = systemClock,
}: PostgresStoreOptions): Store {
  const shares = sharesOf(connections);
  const stalls = new StallClock(clock);
  const dbs = Object.entries(shares).map(([lane, share]) => ({
    lane,
    db: openPostgres(url, log, { ...share, prepare }, stalls),
  }));
  const stores = Object.fromEntries(dbs.map(({ lane, db }) => [lane, createSqlStore(db)])) as Record<
    PriorityClass,
    StoreOperations
  >;
  const gates: Partial<Record<PriorityClass, FairGate>> = {
    request: gateOf(shares.request),
    scan: gateOf(shares.scan),
  };
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  const begin = async () => {
    stalls.start();
    const db = openPostgres(url, log, { ...migrationPool, prepare });
    if (parseDatabaseUrl(url).tls?.verify === 'none') log.warn({}, uncheckedServer);
    try {
      const { isOwn, keepsNames } = await db.session();
      if (!isOwn) log.info({ prepared_statements: keepsNames }, behindPooler);
      await requireServer(db, url);
      const warning = newerSchemaWarning(await migrate(db));
      if (warning) log.warn(warning.fields, warning.message);
      if (isOwn) await warnOfFewConnections(db, connections, log);
    } finally {
      await db.close();
    }
    log.info({ database: nameOf(url) }, 'Connected to the database.');
  };
  const end = async () => {
    await started?.catch(() => {});
    stalls.stop();
    await Promise.all(dbs.map(({ db }) => db.close()));
  };

  return {
    ...eachOperation((group, name, lane) => {
      const operation = Reflect.get(stores[lane][group], name) as (...args: unknown[]) => Promise<unknown>;
      const gate = gates[lane];
      if (!gate) return operation;
      return (...args: unknown[]) => gate.within(callOwner(args), 1, undefined, () => operation(...args));
    }),
    ping: stores.request.ping,
    scrub: stores.request.scrub,
    start: () => (started ??= begin()),
    stop: () => (stopped ??= end()),
  };
}

const behindPooler = 'The database is behind a pooler: every transaction sets its time limits again.';

const uncheckedServer =
  'The certificate of the database is not checked, so another server can pose as it. Write sslmode=verify-full into the database URL.';

/** Warns if this process and those that run already may need more connections than the server allows. */
async function warnOfFewConnections(db: Db, connections: number, log: Log): Promise<void> {
  const [found] = await db.all<{ allowed: number; others: number; processes: number }>(
    `SELECT current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS allowed,
      (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND application_name <> current_setting('application_name')) AS others,
      (SELECT count(*) FROM workers) AS processes`,
  );
  const { allowed, others, processes } = found!;
  const needed = (processes + 1) * connections;
  if (needed + others > allowed)
    log.warn({ processes: processes + 1, connections, others, max_connections: allowed }, fewConnections);
}

const fewConnections =
  'The database allows fewer connections than the processes may open. Raise max_connections, lower postgres.connections, or use a pooler.';

const minVersion = 14;

async function requireServer(db: Db, url: string): Promise<void> {
  const [server] = await db.all<{ version: string; encoding: string }>(
    "SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding",
  );
  const version = Math.floor(Number(server!.version) / 10_000);
  if (version < minVersion)
    throw new StoreError(
      'unsupported',
      `The database ${nameOf(url)} is Postgres ${version}.`,
      `Offpeak needs Postgres ${minVersion} or newer.`,
    );
  if (server!.encoding !== 'UTF8')
    throw new StoreError(
      'unsupported',
      `The database ${nameOf(url)} has the encoding ${server!.encoding}.`,
      "Create it with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
    );
}
