import type { ColumnMetaData } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage, readDataPage, readDataPageV2 } from 'hyparquet/src/datapage.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { getMaxDefinitionLevel } from 'hyparquet/src/schema.js';
import { compressors, type Leaf, type ParquetFile } from './parquet-file.ts';

/**
 * Values of a leaf as the file stores them, with their levels (Dremel encoding). There is a value for each level, null where the
 * definition level is not the highest.
 */
export interface LeafValues {
  values: unknown[];
  definition: number[];
  /** Empty for a leaf without lists above it. */
  repetition: number[];
}

type Decoder = Parameters<typeof readDataPageV2>[2];
type Header = ReturnType<typeof parquetHeader>;

const headerBytes = 4096;

/** Reads the rows of one leaf of a row group, page by page, so that only one page is in memory. */
export function createLeafReader(file: ParquetFile, leaf: Leaf, meta: ColumnMetaData) {
  const decoder = {
    pathInSchema: meta.path_in_schema,
    element: leaf.path.at(-1)!.element,
    schemaPath: leaf.path,
    compressors,
    ...meta,
  } as unknown as Decoder;
  const maxDefinition = getMaxDefinitionLevel(leaf.path);
  let offset = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = offset + Number(meta.total_compressed_size);
  let dictionary: ArrayLike<unknown> | undefined;
  let page: LeafValues = { values: [], definition: [], repetition: [] };
  let position = 0;

  /** Header and bytes of the next page. */
  const nextBytes = (): { header: Header; bytes: Uint8Array } | undefined => {
    if (offset >= end) return undefined;
    const { header, length } = readHeader(file, offset, end);
    const bytes = file.read(offset + length, header.compressed_page_size);
    offset += length + header.compressed_page_size;
    return { header, bytes };
  };

  /** Loads the next page with values. @returns false at the end */
  const load = (): boolean => {
    for (let next = nextBytes(); next !== undefined; next = nextBytes()) {
      const { header, bytes } = next;
      if (header.dictionary_page_header !== undefined) {
        const { codec, type } = meta;
        const plain = decompressPage(bytes, header.uncompressed_page_size, codec, compressors);
        const reader = { view: viewOf(plain), offset: 0 };
        const { type_length: length } = decoder.element;
        dictionary = readPlain(reader, type, header.dictionary_page_header.num_values, length);
        continue;
      }
      if (header.data_page_header === undefined && header.data_page_header_v2 === undefined) continue;
      page = decodePage(header, bytes);
      position = 0;
      if (page.values.length > 0) return true;
    }
    return false;
  };

  const decodePage = (header: Header, bytes: Uint8Array): LeafValues => {
    const v1 = header.data_page_header;
    const decoded = v1
      ? readDataPage(
          decompressPage(bytes, header.uncompressed_page_size, meta.codec, compressors),
          v1,
          decoder,
        )
      : readDataPageV2(bytes, header, decoder);
    const { encoding } = v1 ?? header.data_page_header_v2!;
    const dense = encoding.endsWith('_DICTIONARY') ? lookUp(dictionary, decoded.dataPage) : decoded.dataPage;
    const definition = decoded.definitionLevels ?? [];
    const repetition = decoded.repetitionLevels;
    // No definition levels at all mean that no value is null.
    if (definition.length === 0) {
      const values = Array.from(dense as ArrayLike<unknown>);
      return { values, definition: values.map(() => maxDefinition), repetition };
    }
    let next = 0;
    const values = definition.map((level) => (level === maxDefinition ? dense[next++] : null));
    return { values, definition, repetition };
  };

  return {
    /** Values of the next rows, fewer at the end. */
    take(rows: number): LeafValues {
      const taken: LeafValues = { values: [], definition: [], repetition: [] };
      for (let count = 0; ;) {
        if (position === page.values.length && !load()) return taken;
        const { values, definition, repetition } = page;
        // Without lists, each value is a row.
        if (repetition.length === 0) {
          const to = Math.min(values.length, position + rows - count);
          append(taken.values, values, position, to);
          append(taken.definition, definition, position, to);
          count += to - position;
          position = to;
          if (count === rows) return taken;
          continue;
        }
        for (; position < values.length; position++) {
          if (repetition[position] === 0 && ++count > rows) return taken;
          taken.values.push(values[position]);
          taken.definition.push(definition[position]!);
          taken.repetition.push(repetition[position]!);
        }
      }
    },
  };
}

function append<T>(to: T[], from: readonly T[], start: number, end: number): void {
  for (let index = start; index < end; index++) to.push(from[index]!);
}

function lookUp(dictionary: ArrayLike<unknown> | undefined, indexes: ArrayLike<unknown>): unknown[] {
  if (dictionary === undefined) throw new Error('a dictionary is missing');
  return Array.from(indexes as ArrayLike<number>, (index) => dictionary[index]);
}

/** Reads a header, whose length is known only at its end. Its statistics may be long. */
function readHeader(file: ParquetFile, offset: number, end: number): { header: Header; length: number } {
  for (let length = headerBytes; ; length *= 8) {
    const bytes = file.read(offset, Math.min(length, end - offset));
    const reader = { view: viewOf(bytes), offset: 0 };
    try {
      const header = parquetHeader(reader);
      return { header, length: reader.offset };
    } catch (error) {
      if (!(error instanceof RangeError) || bytes.length < length) throw error;
    }
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView<ArrayBuffer> {
  return new DataView(buffer as ArrayBuffer, byteOffset, byteLength);
}
