import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeColumn } from 'hyparquet-writer/src/column.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { unconvertMinMax } from 'hyparquet-writer/src/unconvert.js';
import type { AddedColumn, TableWriter } from '../table.ts';
import { copiedColumn, newColumn, type OutputColumn, type OutputLeaf } from './output-columns.ts';
import { columnsOf } from './parquet-file.ts';

export interface ParquetWriterOptions {
  /** Metadata of the Parquet file whose rows are copied exactly; else `columns` are written. */
  source: FileMetaData | undefined;
  columns: readonly AddedColumn[];
  added: readonly AddedColumn[];
  /** Takes bytes, whose memory is reused afterwards. */
  emit: (bytes: Uint8Array) => Promise<void> | void;
}

const groupBytes = 8_388_608;
const groupRows = 100_000;
const pageBytes = 1_048_576;
const magic = 0x31_52_41_50;

/**
 * Writer of Parquet. Columns of a Parquet source keep their types, levels and bytes; pages are compressed with Zstandard. A row
 * group is written as soon as it is full, so that memory does not depend on the number of rows.
 */
export async function createParquetWriter(options: ParquetWriterOptions): Promise<TableWriter> {
  const { source, columns, added, emit } = options;
  const root: SchemaElement = {
    ...source?.schema[0],
    name: source?.schema[0]?.name ?? 'schema',
    num_children: (source === undefined ? columns.length : columnsOf(source).length) + added.length,
  };
  const own =
    source === undefined
      ? columns.map((column) => ({ name: column.name, output: newColumn(column, root) }))
      : columnsOf(source).map((column) => ({ name: column.name, output: copiedColumn(column) }));
  const more = added.map((column) => newColumn(column, root));
  const outputs: OutputColumn[] = [...own.map(({ output }) => output), ...more];
  const schema = [root, ...outputs.flatMap(({ elements }) => elements)];
  const bytes = new ByteWriter();
  const groups: RowGroup[] = [];
  let rows = 0;
  let total = 0n;
  let size = 0;
  const flush = async () => {
    await emit(bytes.getBytes());
    bytes.index = 0;
  };
  const writeGroup = async () => {
    if (rows === 0) return;
    const leaves = outputs.flatMap((output) => output.leaves);
    const chunks = leaves.map((leaf) => writeLeaf(bytes, leaf));
    const bytesOf = (of: 'total_uncompressed_size' | 'total_compressed_size') =>
      chunks.reduce((sum, chunk) => sum + (chunk.meta_data?.[of] ?? 0n), 0n);
    groups.push({
      columns: chunks,
      total_byte_size: bytesOf('total_uncompressed_size'),
      total_compressed_size: bytesOf('total_compressed_size'),
      num_rows: BigInt(rows),
    });
    total += BigInt(rows);
    rows = 0;
    size = 0;
    await flush();
  };
  bytes.appendUint32(magic);
  return {
    write({ values }, answers) {
      for (const { name, output } of own) size += output.add(values[name]);
      for (let index = 0; index < more.length; index++) size += more[index]!.add(answers[index]);
      rows++;
      return rows >= groupRows || size >= groupBytes ? writeGroup() : undefined;
    },
    async finish() {
      await writeGroup();
      const footer = {
        version: 2,
        created_by: 'offpeak',
        schema,
        num_rows: total,
        row_groups: groups,
        key_value_metadata: source?.key_value_metadata?.filter(({ key }) => keptKeys.has(key)),
      };
      writeMetadata(bytes, footer as unknown as FileMetaData);
      bytes.appendUint32(magic);
      await flush();
    },
  };
}

/** Metadata of the columns, which stays true with more columns. */
const keptKeys: ReadonlySet<string> = new Set(['pandas', 'geo']);

function writeLeaf(writer: ByteWriter, { path, element, statistics, takeValues }: OutputLeaf) {
  const { values, definition, repetition, maxDefinitionLevel } = takeValues();
  const { chunk } = writeColumn({
    writer,
    column: {
      columnName: path
        .slice(1)
        .map(({ name }) => name)
        .join('.'),
      element,
      schemaPath: path,
      codec: 'ZSTD',
      compressors: { ZSTD: (page) => zstdCompressSync(page) },
      stats: statistics,
      pageSize: pageBytes,
      columnIndex: false,
      offsetIndex: false,
    },
    pageData: {
      values,
      definitionLevels: definition,
      repetitionLevels: repetition,
      maxDefinitionLevel,
    },
  });
  return withOwnStatistics(chunk, path.at(-1)!);
}

/**
 * Chunk whose statistics hold no memory of the values. Their bounds are views of pages of a megabyte, which the footer would keep
 * until the end. So they are shortened here, as the footer would do, and copied.
 */
function withOwnStatistics(chunk: ColumnChunk, element: SchemaElement): ColumnChunk {
  const { meta_data: meta } = chunk;
  if (meta?.statistics === undefined) return chunk;
  const { min_value: min, max_value: max } = meta.statistics;
  const shortened = (value: Uint8Array, isMax: boolean) => {
    const bound = unconvertMinMax(value, element, isMax)!;
    return { value: Uint8Array.from(bound), isExact: bound === value };
  };
  const statistics = { ...meta.statistics };
  if (min instanceof Uint8Array)
    ({ value: statistics.min_value, isExact: statistics.is_min_value_exact } = shortened(min, false));
  if (max instanceof Uint8Array)
    ({ value: statistics.max_value, isExact: statistics.is_max_value_exact } = shortened(max, true));
  return { ...chunk, meta_data: { ...meta, statistics } };
}
