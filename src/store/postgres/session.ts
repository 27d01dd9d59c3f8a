import type { ClientBase } from 'pg';
import { isNameClash } from './errors.ts';

/** Time limits that the server keeps, in milliseconds. */
export interface ServerTimeLimits {
  /** One statement. */
  statement: number;
  /** The part of it spent waiting for row locks. */
  lock: number;
}

/** The relation of a connection to the server process that answers it. */
export interface Session {
  /** False behind a pooler: each transaction may run in another server process, and settings of the session are lost. */
  isOwn: boolean;
  /** True if a later transaction can execute a statement that was prepared under a name. */
  keepsNames: boolean;
  /** Begins a transaction in which the bounds hold. */
  begin: string;
}

export interface SessionOptions {
  bounds: ServerTimeLimits;
  /** False to prepare no statements under a name. */
  prepare: boolean;
}

const sessions = new WeakMap<ClientBase, Session>();

export function sessionOf(client: ClientBase): Session {
  return sessions.get(client)!;
}

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** A process that freezes inside a transaction releases its row locks after this time. */
const idleInTransactionMs = 10_000;

/**
 * Puts the bounds into force on a new connection, without startup parameters, which poolers refuse or drop. The driver learns the id
 * of the server process when it connects, and a pooler reports an id of its own making: where the ids differ, the settings end with
 * the statement, so that none leaks to other clients of the pooler, and every transaction sets them again.
 */
export async function openSession(
  client: ClientBase,
  options: SessionOptions & { mustWrite: boolean },
): Promise<void> {
  sessions.set(client, await probe(client, options));
}

async function probe(
  client: ClientBase,
  { bounds, prepare, mustWrite }: SessionOptions & { mustWrite: boolean },
): Promise<Session> {
  const settings = Object.entries(settingsOf(bounds));
  const { processID } = client as { processID?: number | null };
  const isPooled = `pg_backend_pid() <> ${processID ?? 0}`;
  const set = settings.map(([name, ms]) => `set_config('${name}', '${ms}', ${isPooled})`);
  const { rows } = await client.query<{ pooled: boolean; readonly: boolean }>(
    `SELECT ${isPooled} AS pooled, ${takesNoWrites} AS readonly, ${set.join(', ')}`,
  );
  const { pooled, readonly } = rows[0]!;
  if (readonly && mustWrite) throw readOnlyError();
  if (!pooled) return { isOwn: true, keepsNames: prepare, begin };
  const setLocal = settings.map(([name, ms]) => `SET LOCAL ${name} = ${ms}`);
  return {
    isOwn: false,
    keepsNames: prepare && (await renames(client)),
    begin: [begin, ...setLocal].join('; '),
  };
}

const takesNoWrites = "(pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on')";

/** The error with which the server would refuse a write. */
function readOnlyError(): Error {
  return Object.assign(new Error('the server takes no writes'), { code: '25006', severity: 'ERROR' });
}

function settingsOf({ statement, lock }: ServerTimeLimits): Record<string, number> {
  return {
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

/**
 * A pooler that supports prepared statements renames them, to know them apart on the connections that its clients share. One that
 * passes the name through does not: the next transaction may run where the name is missing, or means the statement of another client.
 */
async function renames(client: ClientBase): Promise<boolean> {
  const name = 'offpeak_probe';
  const text = `SELECT count(*) AS seen FROM pg_prepared_statements WHERE name = '${name}'`;
  try {
    const { rows } = await client.query<{ seen: number }>({ name, text });
    return rows[0]!.seen === 0;
  } catch (error) {
    if (isNameClash(error)) return false;
    throw error;
  }
}
