import type { Db, Queries, Value } from '../db.ts';

/**
 * Helpers for statements, and one rule. Postgres plans by statistics, and those lag minutes behind a batch that grows: a
 * join of chunks or results that it believes to be few may compare each with each. Where many rows are looked up, the
 * statements here ask for them one by one, as `(SELECT 1 ... the whole key ...) = 1`, which leaves only the index.
 */

/** SQLite binds at most 32,766 parameters a statement; this leaves room for the ones around a list. */
const maxParameters = 16_384;

/** `(?,?,?),(?,?,?)` for `rows` rows of `width` columns. */
export function tuples(rows: number, width: number): string {
  return repeat(rows, Array<string>(width).fill('?'));
}

/** The same for a list that is no table's: without a column to take its type from, a parameter needs one of its own. */
export function typedTuples(rows: number, types: readonly string[]): string {
  return repeat(
    rows,
    types.map((type) => `CAST(? AS ${type})`),
  );
}

function repeat(rows: number, values: readonly string[]): string {
  return Array(rows)
    .fill(`(${values.join(',')})`)
    .join(',');
}

/**
 * Cuts rows into slices whose lengths are powers of two, at most `max`: a handful of statement texts serves every number
 * of rows, so that prepared statements stay few.
 */
export function slices<T>(rows: readonly T[], max = 64): T[][] {
  const cut: T[][] = [];
  for (let from = 0, size = max; from < rows.length;) {
    while (size > rows.length - from) size /= 2;
    cut.push(rows.slice(from, from + size));
    from += size;
  }
  return cut;
}

/**
 * The same for rows that may come twice: the last slice is filled up to a power of two by repeating its last row, so that there
 * are no more slices than needed.
 */
export function paddedSlices<T>(rows: readonly T[], max: number): T[][] {
  const cut: T[][] = [];
  for (let from = 0; from < rows.length; from += max) {
    const slice = rows.slice(from, from + max);
    const size = 2 ** Math.ceil(Math.log2(slice.length));
    while (slice.length < size) slice.push(slice.at(-1)!);
    cut.push(slice);
  }
  return cut;
}

/** A list of values for `IN`, padded: `(?,?,?,?)`. */
export interface InList {
  sql: string;
  params: Value[];
}

/** As many lists as it takes; none for no values. */
export function inLists(values: readonly Value[]): InList[] {
  return paddedSlices(values, maxParameters).map((params) => ({ sql: tuples(1, params.length), params }));
}

/** The rows of a statement that asks for a list of values, from as many runs as it takes. */
export async function allIn<Row extends object>(
  q: Queries,
  values: readonly Value[],
  text: (list: string) => string,
  paramsOf: (list: Value[]) => Value[] = (list) => list,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const { sql, params } of inLists(values))
    found.push(...(await q.all<Row>(text(sql), paramsOf(params))));
  return found;
}

/** A transaction that may end with an outcome that must leave no trace. */
export async function withRollback<T>(db: Db, work: (q: Queries) => Promise<T>): Promise<T> {
  try {
    return await db.tx(work);
  } catch (error) {
    if (error instanceof Rollback) return error.outcome as T;
    throw error;
  }
}

/** Thrown inside a transaction to undo it and answer with `outcome` instead. */
export class Rollback<T> extends Error {
  readonly outcome: T;

  constructor(outcome: T) {
    super('The transaction was undone on purpose.');
    this.outcome = outcome;
  }
}
