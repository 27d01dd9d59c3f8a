import { csvRecord, withoutFormula } from '../../base/csv-record.ts';
import type { AddedColumn, TableWriter } from './table.ts';

export interface CsvWriterOptions {
  columns: readonly string[];
  added: readonly AddedColumn[];
  delimiter: string;
  /** True to begin with a byte order mark, by which Excel recognises UTF-8. */
  mark: boolean;
  /** Escapes formulas in the added columns, or in all of them. */
  escape: 'none' | 'added' | 'all';
  emit: (text: string) => Promise<void> | void;
}

/** Writer of CSV or TSV. Values other than text are written as JSON. */
export async function createCsvWriter(options: CsvWriterOptions): Promise<TableWriter> {
  const { columns, added, delimiter, mark, escape, emit } = options;
  const cellOf = (value: unknown) => (value === undefined ? null : value);
  const names = [...columns, ...added.map(({ name }) => name)];
  await emit(`${mark ? '\uFEFF' : ''}${csvRecord(names, delimiter)}`);
  return {
    write({ values }, more) {
      const own = columns.map((name) => cellOf(values[name]));
      const cells = [
        ...(escape === 'all' ? own.map(withoutFormula) : own),
        ...(escape === 'none' ? more : more.map(withoutFormula)),
      ];
      return emit(csvRecord(cells, delimiter));
    },
    finish: () => Promise.resolve(),
  };
}
