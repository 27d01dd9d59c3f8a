import { createHash } from 'node:crypto';
import type { ClientBase, PoolClient } from 'pg';
import type { Queries, Value } from '../db.ts';
import type { Connections } from './connections.ts';
import { isFromServer, isLost, isUnusable } from './errors.ts';
import { sessionOf } from './session.ts';

export const locks = { forUpdate: 'FOR UPDATE', skipLocked: 'FOR UPDATE SKIP LOCKED' };

type Attempt<T> =
  | { outcome: 'committed'; result: T }
  | { outcome: 'undone'; error: unknown }
  /** The answer to the commit was lost: it may have succeeded. */
  | { outcome: 'unknown'; error: unknown };

export async function transact<T>(
  pool: Pick<Connections, 'connect'>,
  work: (q: Queries) => Promise<T>,
): Promise<Attempt<T>> {
  let client: PoolClient | undefined;
  let begun: Promise<unknown> | undefined;
  let committing = false;
  try {
    client = await pool.connect();
    const queries = client;
    begun = client.query(sessionOf(client).begin);
    begun.catch(() => {});
    const result = await work({ ...locks, all: (text, params) => run(queries, text, params) });
    await begun;
    committing = true;
    await client.query('COMMIT');
    client.release();
    return { outcome: 'committed', result };
  } catch (thrown) {
    // If the transaction never began, the statements fail only because the connection is gone.
    const error: unknown = await Promise.resolve(begun).then(
      () => thrown,
      (first) => first,
    );
    if (client) await giveBack(client, error);
    return { outcome: committing && isLost(error) ? 'unknown' : 'undone', error };
  }
}

/** Releases a connection after a failure; closes it if it may still be in a transaction. */
async function giveBack(client: PoolClient, error: unknown): Promise<void> {
  if (mustClose(client, error)) return client.release(true);
  try {
    await client.query('ROLLBACK');
    client.release();
  } catch {
    client.release(true);
  }
}

/** Runs one statement; behind a pooler as a transaction in one round trip, because time limits are set per transaction. */
export async function runAlone<Row extends object>(
  pool: Pick<Connections, 'connect'>,
  sql: string,
  params: readonly Value[] | undefined,
): Promise<Row[]> {
  const client = await pool.connect();
  const { isOwn, begin } = sessionOf(client);
  try {
    const rows = isOwn
      ? await run<Row>(client, sql, params)
      : (await Promise.all([client.query(begin), run<Row>(client, sql, params), client.query('COMMIT')]))[1];
    client.release();
    return rows;
  } catch (error) {
    client.release(mustClose(client, error));
    throw error;
  }
}

/**
 * PgBouncer remembers the name of a statement that the server refused to prepare, and ends the connection that prepares it once more.
 */
function mustClose(client: ClientBase, error: unknown): boolean {
  const { isOwn, keepsNames } = sessionOf(client);
  return isUnusable(error) || (!isOwn && keepsNames && isFromServer(error));
}

/** Statements by their text: `$1, $2 ...` for `?`, and a name that is the same in every process. */
const prepared = new Map<string, { name: string; text: string }>();

function prepare(sql: string): { name: string; text: string } {
  let known = prepared.get(sql);
  if (!known) {
    let n = 0;
    const text = sql.replaceAll('?', () => `$${++n}`);
    known = { name: `offpeak_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`, text };
    prepared.set(sql, known);
  }
  return known;
}

async function run<Row extends object>(
  client: ClientBase,
  sql: string,
  params: readonly Value[] = [],
): Promise<Row[]> {
  const { name, text } = prepare(sql);
  const values = [...params];
  const { rows } = await client.query<Row>(
    sessionOf(client).keepsNames ? { name, text, values } : { text, values },
  );
  return rows;
}
