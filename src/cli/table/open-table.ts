import { basename } from 'node:path';
import { detectFormat, readHead, readTableFormat } from './table-format.ts';
import type { Table } from './table.ts';

export interface TableOptions {
  /** Name for messages and for the format. */
  name?: string | undefined;
  /** Format, which is detected otherwise. */
  format?: string | undefined;
  /** Encoding of CSV, TSV and JSON Lines; UTF-8, or UTF-16 with a byte order mark, otherwise. */
  encoding?: string | undefined;
  /** True to keep values as Parquet stores them, for a copy. */
  exact?: boolean;
}

/** Opens a table. The reader of each format is loaded on demand. @throws CliError */
export async function openTable(path: string, options: TableOptions = {}): Promise<Table> {
  const { name = basename(path), encoding } = options;
  const format =
    options.format === undefined
      ? detectFormat(readHead(path), name)
      : readTableFormat('--input-format', options.format);
  if (format === 'parquet')
    return (await import('./parquet/read-parquet.ts')).openParquet(path, name, options.exact === true);
  if (format === 'jsonl') return (await import('./read-jsonl.ts')).openJsonl(path, name, encoding);
  return (await import('./read-csv.ts')).openCsv(path, { name, format, encoding });
}
