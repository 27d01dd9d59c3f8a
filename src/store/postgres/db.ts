import postgres from 'postgres';
import type { Db, Queries, Value } from '../db.ts';
import { isConflict, isLost, translate } from './errors.ts';

/** A conflict resolves itself as soon as the other transaction is through. */
const maxConflicts = 10;

const nowSql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now';

type Handle = Pick<postgres.Sql, 'unsafe'>;

/**
 * A pool of connections as a `Db`. Conflicts between transactions are tried again; a connection that was lost is replaced
 * and the work tried once more where nothing can have happened twice: reads, and transactions that had not come to their
 * commit.
 */
export function openPostgres(url: string): Db {
  const sql = postgres(url, {
    max: 10,
    prepare: true,
    // Arrays are never sent or read.
    fetch_types: false,
    onnotice() {},
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: 'offpeak',
      // A process that freezes inside a transaction must not keep its rows from the others for long.
      idle_in_transaction_session_timeout: 10_000,
    },
  });

  const all = async <Row extends object>(text: string, params?: readonly Value[]): Promise<Row[]> => {
    try {
      return await run<Row>(sql, text, params);
    } catch (error) {
      if (!isLost(error) || !isRead(text)) throw translate(error, url);
    }
    try {
      return await run<Row>(sql, text, params);
    } catch (error) {
      throw translate(error, url);
    }
  };

  const tx = async <T>(work: (q: Queries) => Promise<T>): Promise<T> => {
    let reconnected = false;
    for (let conflicts = 0; ;) {
      let committing = false;
      try {
        const result = await sql.begin('isolation level read committed', async (handle) => {
          const done = await work(inside(handle));
          committing = true;
          return { done };
        });
        return result.done;
      } catch (error) {
        if (isConflict(error) && ++conflicts < maxConflicts) continue;
        if (isLost(error) && !committing && !reconnected) {
          reconnected = true;
          continue;
        }
        throw translate(error, url);
      }
    }
  };

  return {
    lock: 'FOR UPDATE',
    skip: 'FOR UPDATE SKIP LOCKED',
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
      await sql.unsafe(text).simple();
    },
    async now() {
      const [row] = await all<{ now: number }>(nowSql);
      return row!.now;
    },
    close: () => sql.end({ timeout: 5 }),
  };
}

function inside(handle: Handle): Queries {
  return {
    lock: 'FOR UPDATE',
    skip: 'FOR UPDATE SKIP LOCKED',
    all: (text, params) => run(handle, text, params),
  };
}

/** Texts with `$1, $2 ...`, made once each. */
const numbered = new Map<string, string>();

function number(text: string): string {
  let known = numbered.get(text);
  if (known === undefined) {
    let n = 0;
    known = text.replaceAll('?', () => `$${++n}`);
    numbered.set(text, known);
  }
  return known;
}

async function run<Row extends object>(
  handle: Handle,
  text: string,
  params: readonly Value[] = [],
): Promise<Row[]> {
  // An async function runs up to its first await, and awaiting a query sends it: nothing here is lazy.
  return await handle.unsafe<Row[]>(number(text), [...params], { prepare: true });
}

function isRead(text: string): boolean {
  return /^\s*(SELECT|WITH)\b/.test(text) && !/\b(INSERT|UPDATE|DELETE)\b/.test(text);
}
