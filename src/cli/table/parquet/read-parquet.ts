import type { FileMetaData, RowGroup } from 'hyparquet';
import { CliError } from '../../shared/exit-codes.ts';
import type { Table, TableRow } from '../table.ts';
import { cellMaker } from './cells.ts';
import { createLeafReader, type LeafValues } from './leaf-reader.ts';
import {
  columnsOf,
  openParquetFile,
  type ParquetColumn,
  type ParquetFile,
  readMetadata,
} from './parquet-file.ts';

export interface ParquetTable extends Table {
  metadata: FileMetaData;
}

const batchRows = 1000;
const batchBytes = 4_194_304;

/**
 * Opens a Parquet file.
 * @param exact true for values as they are stored: of a nested column, the `LeafValues` of its leaves
 * @throws CliError for a damaged file
 */
export function openParquet(path: string, name: string, exact: boolean): ParquetTable {
  const metadata = readMetadata(path, name);
  const columns = columnsOf(metadata);
  return {
    format: 'parquet',
    name,
    columns: columns.map((column) => column.name),
    unit: 'row',
    rows: Number(metadata.num_rows),
    metadata,
    read: () => readRows(path, { name, metadata, columns, exact }),
  };
}

interface Reading {
  name: string;
  metadata: FileMetaData;
  columns: ParquetColumn[];
  exact: boolean;
}

async function* readRows(
  path: string,
  { name, metadata, columns, exact }: Reading,
): AsyncGenerator<TableRow[]> {
  const file = openParquetFile(path);
  let number = 0;
  try {
    for (const group of metadata.row_groups) {
      for (const rows of readGroup(file, group, columns, exact)) {
        yield rows.map((values) => ({ number: ++number, values }));
      }
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`${name} cannot be read after row ${number}: ${reason}.`);
  } finally {
    file.close();
  }
}

function* readGroup(
  file: ParquetFile,
  group: RowGroup,
  columns: readonly ParquetColumn[],
  exact: boolean,
): Generator<Record<string, unknown>[]> {
  const readers = columns.map(({ leaves }) =>
    leaves.map((leaf) => createLeafReader(file, leaf, metaOf(group, leaf.index))),
  );
  const makers = columns.map((column) => (exact ? exactMaker(column) : cellMaker(column)));
  const total = Number(group.num_rows);
  const perRow = Number(group.total_byte_size) / Math.max(1, total);
  const step = Math.max(1, Math.min(batchRows, Math.floor(batchBytes / Math.max(1, perRow))));
  for (let done = 0; done < total; done += step) {
    const count = Math.min(step, total - done);
    const cells = makers.map((make, index) => make(readers[index]!.map((reader) => reader.take(count))));
    const short = columns.find((_, index) => cells[index]!.length !== count);
    if (short !== undefined) throw new Error(`the column ${short.name} has fewer values`);
    yield Array.from({ length: count }, (_, row) => {
      const values: Record<string, unknown> = {};
      for (let index = 0; index < columns.length; index++) values[columns[index]!.name] = cells[index]![row];
      return values;
    });
  }
}

function metaOf({ columns }: RowGroup, index: number) {
  const chunk = columns[index];
  if (chunk?.meta_data === undefined || chunk.file_path) throw new Error('the data is in another file');
  return chunk.meta_data;
}

/** Stored values, for each row. */
function exactMaker({ isNested }: ParquetColumn): (leaves: readonly LeafValues[]) => unknown[] {
  if (!isNested) return ([only]) => only!.values;
  return (leaves) => {
    const perLeaf = leaves.map(splitRows);
    return perLeaf[0]!.map((_, row) => perLeaf.map((rows) => rows[row]!));
  };
}

function splitRows({ values, definition, repetition }: LeafValues): LeafValues[] {
  const rows: LeafValues[] = [];
  for (let index = 0; index < values.length; index++) {
    if (repetition.length === 0 || repetition[index] === 0)
      rows.push({ values: [], definition: [], repetition: [] });
    const row = rows.at(-1)!;
    row.values.push(values[index]);
    row.definition.push(definition[index]!);
    if (repetition.length > 0) row.repetition.push(repetition[index]!);
  }
  return rows;
}
