import type { Db, Queries, Value } from '../db.ts';

/**
 * Statement helpers. Rule for joins: Postgres's statistics lag minutes behind a growing batch, so it may choose a nested loop for a
 * join of chunks or results. Look up many rows with `(SELECT 1 ... the whole key ...) = 1`, which leaves only the index.
 */

/** SQLite binds at most 32,766 parameters; this leaves room for those around a list. */
const maxParameters = 16_384;

/** `(?,?,?),(?,?,?)` for `rows` rows of `width` columns. */
export function tuples(rows: number, width: number): string {
  return repeat(rows, Array<string>(width).fill('?'));
}

/** As `tuples`, with types: a list that is not inserted into a table has no column types. */
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

/** Splits rows into slices with lengths that are powers of two up to `max`, which limits the number of prepared statements. */
export function slices<T>(rows: readonly T[], max = 64): T[][] {
  const cut: T[][] = [];
  for (let from = 0, size = max; from < rows.length;) {
    while (size > rows.length - from) size /= 2;
    cut.push(rows.slice(from, from + size));
    from += size;
  }
  return cut;
}

/** As `slices`, but fills the last slice up to a power of two by repeating its last row. For rows that may occur twice. */
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

/** Splits values into padded lists for `IN`: `(?,?,?,?)`; none for no values. */
export function inLists(values: readonly Value[]): { sql: string; params: Value[] }[] {
  return paddedSlices(values, maxParameters).map((params) => ({ sql: tuples(1, params.length), params }));
}

/** Runs a statement with lists of values as often as needed, and returns all rows. */
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

/** Runs a transaction that can throw `Rollback` to end without effects. */
export async function withRollback<T>(db: Db, work: (q: Queries) => Promise<T>): Promise<T> {
  try {
    return await db.tx(work);
  } catch (error) {
    if (error instanceof Rollback) return error.outcome as T;
    throw error;
  }
}

/** Thrown in a transaction to undo it and return `outcome`. */
export class Rollback<T> extends Error {
  readonly outcome: T;

  constructor(outcome: T) {
    super('The transaction was undone on purpose.');
    this.outcome = outcome;
  }
}
