import { Socket } from 'node:net';
import type * as Driver from 'pg';
import type { Pool, PoolClient } from 'pg';
import { loadPackage } from '../../base/load-package.ts';
import type { Log } from '../../base/log.ts';
import type { Db, Queries, Value } from '../db.ts';
import { isConflict, isLost, isUnanswered, translate } from './errors.ts';

/** A conflict resolves itself as soon as the other transaction is through. */
const maxConflicts = 10;

const nowSql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now';

/** How long something may take before it fails with `unreachable`, in milliseconds. */
export interface Bounds {
  /** Until a connection stands, or one of the pool is free. */
  connect: number;
  /** One statement, by the server's clock. */
  statement: number;
  /** Of that, waiting for rows that others hold. */
  lock: number;
  /** One statement, by ours: a server or a network that went silent tells nothing. */
  answer: number;
}

export const usualBounds: Bounds = { connect: 30_000, statement: 30_000, lock: 15_000, answer: 35_000 };

export const usualShare: Share = { connections: 5, bounds: usualBounds };

/** A step of the schema may rewrite a table, and whoever starts meanwhile waits for it. */
export const migrationShare: Share = {
  connections: 2,
  bounds: { connect: 30_000, statement: 1_800_000, lock: 1_800_000, answer: 1_810_000 },
};

/** Whatever runs statements: the pool, each on a connection of its choice, or one connection. */
type Runner = Pick<Pool, 'query'>;

/** What a process may take of a database that many share. */
export interface Share {
  connections: number;
  bounds: Bounds;
}

/**
 * A pool of connections as a `Db`. Conflicts between transactions are tried again; a connection that was lost is replaced
 * and the work tried once more where nothing can have happened twice: reads, and transactions that had not come to their
 * commit. Nothing waits for ever, whatever the server or the network does.
 */
export function openPostgres(url: string, log: Log, { connections, bounds }: Share = usualShare): Db {
  // A service on the embedded database starts without the driver.
  const { Pool, types } = loadPackage('pg') as typeof Driver;
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: bounds.connect,
    statement_timeout: bounds.statement,
    lock_timeout: bounds.lock,
    query_timeout: bounds.answer,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    application_name: 'offpeak',
    // A process that freezes inside a transaction must not keep its rows from the others for long.
    idle_in_transaction_session_timeout: 10_000,
    types: {
      getTypeParser: (type, format) =>
        type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
    },
  });
  // Whoever uses the connection is told by his statement; without these, one that nobody uses would end the process.
  pool.on('error', (error) => log.debug({ err: error }, 'An idle connection to the database was lost.'));
  pool.on('connect', (client) => client.on('error', () => {}));

  const all = async <Row extends object>(text: string, params?: readonly Value[]): Promise<Row[]> => {
    try {
      return await run<Row>(pool, text, params).catch((error: unknown) => {
        if (isLost(error) && isRead(text)) return run<Row>(pool, text, params);
        throw error;
      });
    } catch (error) {
      throw translate(error, url);
    }
  };

  const tx = async <T>(work: (q: Queries) => Promise<T>): Promise<T> => {
    let reconnected = false;
    for (let conflicts = 0; ;) {
      const attempt = await transact(pool, work);
      if (attempt.outcome === 'committed') return attempt.result;
      if (isConflict(attempt.error) && ++conflicts < maxConflicts) continue;
      if (isLost(attempt.error) && attempt.outcome === 'undone' && !reconnected) {
        reconnected = true;
        continue;
      }
      throw translate(attempt.error, url);
    }
  };

  return {
    ...locks,
    types: {
      dialect: 'postgres',
      blob: 'bytea',
      text: 'text COLLATE "C"',
      // Any fixed number; the letters of "offpeak" on a telephone.
      migrationLock: 'SELECT pg_advisory_xact_lock(6337325)',
    },
    all,
    tx,
    async exec(text) {
      await pool.query(text);
    },
    async now() {
      const [row] = await all<{ now: number }>(nowSql);
      return row!.now;
    },
    // Vacuum and the log of transactions are the server's business.
    scrub: () => Promise.resolve(),
    async close() {
      await pool.end();
      // A server that is silent does not close its side; the process may end all the same.
      for (const socket of sockets) socket.unref();
    },
  };
}

const locks = { lock: 'FOR UPDATE', skip: 'FOR UPDATE SKIP LOCKED' };

type Attempt<T> =
  | { outcome: 'committed'; result: T }
  | { outcome: 'undone'; error: unknown }
  /** The answer to the commit was lost: it may have happened. */
  | { outcome: 'unknown'; error: unknown };

async function transact<T>(pool: Pool, work: (q: Queries) => Promise<T>): Promise<Attempt<T>> {
  let client: PoolClient | undefined;
  let committing = false;
  try {
    client = await pool.connect();
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const queries = client;
    const result = await work({ ...locks, all: (text, params) => run(queries, text, params) });
    committing = true;
    await client.query('COMMIT');
    client.release();
    return { outcome: 'committed', result };
  } catch (error) {
    if (client) await giveBack(client, error);
    return { outcome: committing && isLost(error) ? 'unknown' : 'undone', error };
  }
}

/** A connection of which it is not sure that it is out of the transaction is not used again. */
async function giveBack(client: PoolClient, error: unknown): Promise<void> {
  if (isLost(error) || isUnanswered(error)) return client.release(true);
  try {
    await client.query('ROLLBACK');
    client.release();
  } catch {
    client.release(true);
  }
}

/** Statements by their text: `$1, $2 ...` for `?`, and a name under which each connection prepares it once. */
const prepared = new Map<string, { name: string; text: string }>();

function prepare(sql: string): { name: string; text: string } {
  let known = prepared.get(sql);
  if (!known) {
    let n = 0;
    known = { name: `s${prepared.size}`, text: sql.replaceAll('?', () => `$${++n}`) };
    prepared.set(sql, known);
  }
  return known;
}

async function run<Row extends object>(
  runner: Runner,
  sql: string,
  params: readonly Value[] = [],
): Promise<Row[]> {
  const { rows } = await runner.query<Row>({ ...prepare(sql), values: [...params] });
  return rows;
}

function isRead(text: string): boolean {
  return /^\s*(SELECT|WITH)\b/.test(text) && !/\b(INSERT|UPDATE|DELETE)\b/.test(text);
}
