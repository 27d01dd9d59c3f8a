import { Socket } from 'node:net';
import type * as Driver from 'pg';
import type { PoolClient } from 'pg';
import { loadPackage } from '../../base/load-package.ts';
import type { Log } from '../../base/log.ts';
import type { StallClock } from '../../base/stall-clock.ts';
import type { Db, Queries, Value } from '../db.ts';
import { isConflict, isLost, translate } from './errors.ts';
import { openSession, type ServerTimeLimits, type Session, sessionOf } from './session.ts';
import { locks, runAlone, transact } from './transactions.ts';

/** Retries of a transaction after conflicts. */
const maxConflicts = 10;

const nowSql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now';

/** Time limits in milliseconds, after which an operation fails with `unreachable`. */
export interface TimeLimits extends ServerTimeLimits {
  /** To connect, or to get a connection of the pool. */
  connect: number;
  /** One statement, measured here: a silent server or network enforces no limit. */
  answer: number;
}

export const defaultTimeLimits: TimeLimits = {
  connect: 30_000,
  statement: 30_000,
  lock: 15_000,
  answer: 35_000,
};

export const defaultPool: PoolOptions = { connections: 5, bounds: defaultTimeLimits };

/** A migration can take long, and other starts wait for it. */
export const migrationPool: PoolOptions = {
  connections: 2,
  bounds: { connect: 30_000, statement: 1_800_000, lock: 1_800_000, answer: 1_810_000 },
};

export interface PoolOptions {
  connections: number;
  bounds: TimeLimits;
}

export interface PostgresDb extends Db {
  /** Connects, begins a transaction, and reports the kind of connection. */
  session(): Promise<Session>;
}

/**
 * Connection pool as a `Db`. Retries transactions after conflicts, and once after a lost connection if nothing can happen twice: reads,
 * and transactions before their commit. Every wait is limited.
 * @param stalls standstill of this process, which is not blamed on the database
 */
export function openPostgres(
  url: string,
  log: Log,
  { connections, bounds }: PoolOptions = defaultPool,
  stalls: Pick<StallClock, 'ms'> = { ms: 0 },
): PostgresDb {
  // Loaded on first use: the embedded database needs no driver.
  const { Pool, types } = loadPackage('pg') as typeof Driver;
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: bounds.connect,
    query_timeout: bounds.answer,
    // BEGIN, and the settings behind a pooler, need no round trip of their own.
    pipeline: true,
    // oxlint-disable-next-line no-misused-promises -- the pool waits for the promise, which its types leave out
    onConnect: (client) => openSession(client, bounds),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    application_name: 'offpeak',
    types: {
      getTypeParser: (type, format) =>
        type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
    },
  });
  // Statements report lost connections; without listeners, the loss of an idle one would end the process.
  pool.on('error', (error) => log.debug({ err: error }, 'An idle connection to the database was lost.'));
  pool.on('connect', (client) => client.on('error', () => {}));

  const all = async <Row extends object>(text: string, params?: readonly Value[]): Promise<Row[]> => {
    const stalled = stalls.ms;
    try {
      return await runAlone<Row>(pool, text, params).catch((error: unknown) => {
        if (isLost(error) && isRead(text)) return runAlone<Row>(pool, text, params);
        throw error;
      });
    } catch (error) {
      throw translate(error, url, stalls.ms - stalled);
    }
  };

  const tx = async <T>(work: (q: Queries) => Promise<T>): Promise<T> => {
    let reconnected = false;
    const stalled = stalls.ms;
    for (let conflicts = 0; ;) {
      const attempt = await transact(pool, work);
      if (attempt.outcome === 'committed') return attempt.result;
      if (isConflict(attempt.error) && ++conflicts < maxConflicts) continue;
      if (isLost(attempt.error) && attempt.outcome === 'undone' && !reconnected) {
        reconnected = true;
        continue;
      }
      throw translate(attempt.error, url, stalls.ms - stalled);
    }
  };

  return {
    ...locks,
    types: {
      dialect: 'postgres',
      blob: 'bytea',
      text: 'text COLLATE "C"',
      // Without the room, every new row version would also be written to all indexes.
      frequentlyUpdated: ' WITH (fillfactor = 30)',
      snapshot: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
      // Any fixed number; the letters of "offpeak" on a telephone.
      migrationLock: 'SELECT pg_advisory_xact_lock(6337325)',
    },
    all,
    tx,
    async session() {
      try {
        const client = await pool.connect();
        await requireTransactions(client);
        return sessionOf(client);
      } catch (error) {
        throw translate(error, url);
      }
    },
    async exec(text) {
      await pool.query(text);
    },
    async now() {
      const [row] = await all<{ now: number }>(nowSql);
      return row!.now;
    },
    // The server vacuums and recycles its log.
    scrub: () => Promise.resolve(),
    async close() {
      await pool.end();
      // A silent server does not close its side; that must not keep the process alive.
      for (const socket of sockets) socket.unref();
    },
  };
}

/**
 * Rejects with the message of a pooler that allows no transactions, and releases the client. Each statement waits for its answer: a
 * pooler that closes a connection with unread statements resets it, and the reset discards the message.
 */
async function requireTransactions(client: PoolClient): Promise<void> {
  try {
    await client.query(sessionOf(client).begin);
    await client.query('ROLLBACK');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

function isRead(text: string): boolean {
  return /^\s*(SELECT|WITH)\b/.test(text) && !/\b(INSERT|UPDATE|DELETE)\b/.test(text);
}
