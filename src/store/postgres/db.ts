import type { PoolClient } from 'pg';
import type { Log } from '../../base/log.ts';
import type { StallClock } from '../../base/stall-clock.ts';
import { parseDatabaseUrl } from '../../core/database-url.ts';
import type { Db, Queries, Value } from '../db.ts';
import { openConnections } from './connections.ts';
import { isConflict, isLost, isReadOnly, translate } from './errors.ts';
import { type ServerTimeLimits, type Session, sessionOf } from './session.ts';
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
  /** False to prepare no statements under a name; by default it depends on the pooler, if there is one. */
  prepare?: boolean;
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
  { connections: max, bounds, prepare = true }: PoolOptions = defaultPool,
  stalls: Pick<StallClock, 'ms'> = { ms: 0 },
): PostgresDb {
  const target = parseDatabaseUrl(url);
  const connections = openConnections(target, log, {
    max,
    prepare,
    bounds,
    connectMs: bounds.connect,
    answerMs: bounds.answer,
  });

  /** Another host may have become the primary. */
  const hasSeveral = target.hosts.length > 1;

  const all = async <Row extends object>(text: string, params?: readonly Value[]): Promise<Row[]> => {
    const stalled = stalls.ms;
    try {
      return await runAlone<Row>(connections, text, params).catch((error: unknown) => {
        if ((isLost(error) && isRead(text)) || (hasSeveral && isReadOnly(error)))
          return runAlone<Row>(connections, text, params);
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
      const attempt = await transact(connections, work);
      if (attempt.outcome === 'committed') return attempt.result;
      if (isConflict(attempt.error) && ++conflicts < maxConflicts) continue;
      const isElsewhere = hasSeveral && isReadOnly(attempt.error);
      if ((isLost(attempt.error) || isElsewhere) && attempt.outcome === 'undone' && !reconnected) {
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
        const client = await connections.connect();
        await requireTransactions(client);
        return sessionOf(client);
      } catch (error) {
        throw translate(error, url);
      }
    },
    async exec(text) {
      const client = await connections.connect();
      await client.query(text).finally(() => client.release());
    },
    async now() {
      const [row] = await all<{ now: number }>(nowSql);
      return row!.now;
    },
    // The server vacuums and recycles its log.
    scrub: () => Promise.resolve(),
    close: () => connections.end(),
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
