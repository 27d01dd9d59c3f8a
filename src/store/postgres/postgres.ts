import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import { StallClock } from '../../base/stall-clock.ts';
import { systemClock } from '../../base/system.ts';
import { callOwner } from '../call-owner.ts';
import type { Db } from '../db.ts';
import { migrate } from '../migrations/migrate.ts';
import { eachOperation, type PriorityClass } from '../sql/priority-classes.ts';
import { createSqlStore, type StoreOperations } from '../sql/sql-store.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../../core/store-error.ts';
import { migrationPool, openPostgres, type PoolOptions, defaultTimeLimits, defaultPool } from './db.ts';
import { nameOf } from './errors.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as for libpq. */
  url: string;
  log: Log;
  clock?: Clock;
}

/** Pools of the priority classes, ten connections in total. A failed heartbeat leaves time for another before the leases end. */
const shares: Record<PriorityClass, PoolOptions> = {
  beat: { connections: 1, bounds: { connect: 8_000, statement: 7_000, lock: 5_000, answer: 8_000 } },
  record: { connections: 1, bounds: defaultTimeLimits },
  engine: { connections: 3, bounds: defaultTimeLimits },
  request: { ...defaultPool, connections: 4 },
  // Slices of scans of all orgs, one after the other.
  scan: { ...defaultPool, connections: 1 },
};

/** Orgs take turns at the connections for clients; the pools serve their own queues in order of arrival. */
const gateOf = ({ connections }: PoolOptions) =>
  createFairGate({ capacity: connections, maxPerOwner: connections });

/**
 * Store shared by processes on several machines. `start` connects and migrates the schema; of processes that start together, one
 * migrates and the others wait.
 * @throws StoreError from `start`, if the database is unreachable or unusable
 */
export function createPostgresStore({ url, log, clock = systemClock }: PostgresStoreOptions): Store {
  const stalls = new StallClock(clock);
  const dbs = Object.entries(shares).map(([lane, share]) => ({
    lane,
    db: openPostgres(url, log, share, stalls),
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
