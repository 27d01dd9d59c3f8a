import type { FileMetaData } from 'hyparquet';
import { hasByteOrderMark } from './decode-text.ts';
import type { AddedColumn, Table, TableFormat, TableWriter } from './table.ts';
import { createCsvWriter } from './write-csv.ts';
import { createJsonlWriter } from './write-jsonl.ts';

export interface WriterOptions {
  format: TableFormat;
  /** Table whose rows are copied, and its file. */
  source: Table & { delimiter?: string; metadata?: FileMetaData };
  sourcePath: string;
  columns: readonly AddedColumn[];
  added: readonly AddedColumn[];
  /** With CSV: do not escape formulas. */
  raw: boolean;
  emit: (bytes: string | Uint8Array) => Promise<void> | void;
}

/** Writer of a table with more columns. CSV keeps the delimiter and the byte order mark of a CSV source. */
export async function openWriter(options: WriterOptions): Promise<TableWriter> {
  const { format, source, sourcePath, columns, added, raw, emit } = options;
  if (format === 'jsonl') return createJsonlWriter(added, emit);
  if (format === 'parquet') {
    const { createParquetWriter } = await import('./parquet/write-parquet.ts');
    return createParquetWriter({ source: source.metadata, columns, added, emit });
  }
  const fromCsv = source.format === 'csv' || source.format === 'tsv';
  const delimiter = format === 'tsv' ? '\t' : source.format === 'csv' ? (source.delimiter ?? ',') : ',';
  return createCsvWriter({
    columns: columns.map(({ name }) => name),
    added,
    delimiter,
    mark: fromCsv && hasByteOrderMark(sourcePath),
    escape: raw ? 'none' : fromCsv ? 'added' : 'all',
    emit,
  });
}
