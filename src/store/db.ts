/**
 * Port below the SQL store. Statements are written once, with `?` for parameters, in the SQL common to SQLite and Postgres; only the
 * fragments below differ.
 */

/** Parameter of a `?`. Booleans are 0 and 1, instants epoch milliseconds, JSON is text, bodies are bytes. */
export type Value = string | number | null | Uint8Array;

/** Runs statements, alone or in a transaction. */
export interface Queries {
  /** Rows of one statement, which is sent immediately. Integers are numbers, so counts and sums must stay below 2^53. */
  all<Row extends object>(sql: string, params?: readonly Value[]): Promise<Row[]>;
  /** Ends a SELECT that locks its rows until the end of the transaction; empty for SQLite, whose transactions are serial. */
  readonly forUpdate: string;
  /** As `forUpdate`, but skips rows locked by other transactions. */
  readonly skipLocked: string;
}

export interface Db extends Queries {
  readonly types: ColumnTypes;
  /**
   * Runs `work` in one transaction, which is durable when this resolves and undone when it rejects. After a conflict with another
   * transaction `work` runs again, so it must have no other effects.
   */
  tx<T>(work: (q: Queries) => Promise<T>): Promise<T>;
  /** Runs several statements without parameters. */
  exec(sql: string): Promise<void>;
  /** Time of the database in epoch milliseconds, the clock shared by all processes. */
  now(): Promise<number>;
  /** Overwrites remains of deleted rows in SQLite's files. */
  scrub(): Promise<void>;
  /** Waits for running statements. */
  close(): Promise<void>;
}

/** SQL fragments that differ between the dialects. */
export interface ColumnTypes {
  dialect: 'sqlite' | 'postgres';
  blob: string;
  /** Text that compares byte by byte in any locale, so that ids sort by time. */
  text: string;
  /** Ends a CREATE TABLE whose rows are updated often: leaves room for new row versions on the same page. */
  frequentlyUpdated: string;
  /** First statement of a transaction that reads one snapshot; empty if not needed. */
  snapshot: string;
  /** Serializes migrations of several processes until the end of the transaction; empty if not needed. */
  migrationLock: string;
}
