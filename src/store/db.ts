/**
 * The port under the SQL store: what SQLite and Postgres have in common. Statements are written once, with `?` for
 * parameters, in the SQL both understand; the fragments below are all that differs.
 */

/** What may be bound to a `?`. Booleans are 0 and 1, instants epoch milliseconds, JSON its text, bodies bytes. */
export type Value = string | number | null | Uint8Array;

/** Runs statements: outside a transaction each on its own, inside one all together. */
export interface Queries {
  /**
   * Rows of one statement. It is sent at once, awaited or not. Integers come as numbers: whatever is counted or summed
   * here stays below 2^53.
   */
  all<Row extends object>(sql: string, params?: readonly Value[]): Promise<Row[]>;
  /** Ends a SELECT whose rows stay locked until the transaction ends; empty where transactions run one by one. */
  readonly forUpdate: string;
  /** The same, passing over rows that another transaction holds. */
  readonly skipLocked: string;
}

export interface Db extends Queries {
  readonly types: ColumnTypes;
  /**
   * Runs `work` in one transaction: all of it is durable when this resolves, none of it when it rejects. A conflict
   * with another transaction runs `work` again, so it must have no effects of its own.
   */
  tx<T>(work: (q: Queries) => Promise<T>): Promise<T>;
  /** Several statements at once, without parameters. */
  exec(sql: string): Promise<void>;
  /** The database's time, in epoch milliseconds: the one clock that all processes share. */
  now(): Promise<number>;
  /** Overwrites what deleted rows left in the files, where the database leaves that to us. */
  scrub(): Promise<void>;
  /** Waits for what is running. */
  close(): Promise<void>;
}

/** How the two dialects spell what the schema needs. */
export interface ColumnTypes {
  dialect: 'sqlite' | 'postgres';
  blob: string;
  /** Text compared byte by byte, so that ids sort by time whatever the locale. */
  text: string;
  /** Ends a CREATE TABLE whose rows are updated often: leaves room for new row versions on the same page. */
  frequentlyUpdated: string;
  /** Makes a transaction read all from one moment, as its first statement; empty where nothing is needed. */
  snapshot: string;
  /** Serialises migrations across processes, for the length of the transaction; empty where nothing is needed. */
  migrationLock: string;
}
