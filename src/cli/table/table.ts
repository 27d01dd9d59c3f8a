import type { Fields } from '../../base/fields.ts';

export const tableFormats = ['csv', 'tsv', 'jsonl', 'parquet'] as const;
export type TableFormat = (typeof tableFormats)[number];

/** Row of a table. */
export interface TableRow {
  /** From 1. In JSON Lines the number of the line, so that numbers may be missing. */
  number: number;
  /** Values by column. Missing values are absent or null. */
  values: Fields;
  /** JSON Lines only: the object as it is in the file. */
  text?: string;
  /** Reason why the row cannot be used. */
  fault?: string;
}

/** File of rows, which can be read repeatedly. */
export interface Table {
  format: TableFormat;
  /** Name of the file, for messages. */
  name: string;
  /** Names of the columns; undefined for JSON Lines, where each row has its own. */
  columns: readonly string[] | undefined;
  /** `line` for JSON Lines, else `row`. */
  unit: 'row' | 'line';
  /** Number of rows, where the file states it. */
  rows: number | undefined;
  /**
   * Reads the rows in order, a few thousand at a time at most.
   * @throws CliError where the rest of the file cannot be read
   */
  read(): AsyncIterable<TableRow[]>;
}

/** Type of a column that is added to a table. `json` is any JSON value, `vector` a list of numbers. */
export type ColumnType = 'string' | 'integer' | 'number' | 'boolean' | 'json' | 'vector';

export interface AddedColumn {
  name: string;
  type: ColumnType;
}

/** Destination of rows. */
export interface TableWriter {
  /** @param added values of the added columns, in their order; null for none */
  write(row: TableRow, added: readonly unknown[]): Promise<void> | void;
  finish(): Promise<void>;
}

/** Names that are not taken: `answer` becomes `answer_2` where a table has an `answer`. */
export function freeNames(names: readonly string[], taken: Iterable<string>): string[] {
  const used = new Set(taken);
  return names.map((name) => {
    let free = name;
    for (let number = 2; used.has(free); number++) free = `${name}_${number}`;
    used.add(free);
    return free;
  });
}
