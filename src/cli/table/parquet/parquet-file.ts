import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type Compressors,
  type FileMetaData,
  parquetMetadata,
  parquetSchema,
  type SchemaTree,
} from 'hyparquet';
import { compressors as portable } from 'hyparquet-compressors';
import { CliError } from '../../shared/exit-codes.ts';

/** Open Parquet file. */
export interface ParquetFile {
  read(offset: number, length: number): Uint8Array;
  close(): void;
}

/** Decompressors: those of Node, which are native, and portable ones for the rest. */
export const compressors: Compressors = Object.fromEntries(
  Object.entries({
    ...portable,
    GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
    BROTLI: (bytes: Uint8Array) => brotliDecompressSync(bytes),
    ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes),
  } as Compressors).map(([codec, decompress]) => [
    codec,
    // The portable LZ4 rejects the block of an empty page.
    (bytes: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : decompress(bytes, length)),
  ]),
);

export function openParquetFile(path: string): ParquetFile {
  const file = openSync(path, 'r');
  return {
    read(offset, length) {
      // A buffer of its own for each page, which is freed with its last value.
      const bytes = Buffer.allocUnsafeSlow(length);
      let done = 0;
      while (done < length) {
        const count = readSync(file, bytes, done, length - done, offset + done);
        if (count === 0) break;
        done += count;
      }
      return bytes.subarray(0, done);
    },
    close: () => closeSync(file),
  };
}

const tailBytes = 8;

/** Metadata of a Parquet file. @throws CliError for a damaged or encrypted file */
export function readMetadata(path: string, name: string): FileMetaData {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(tailBytes);
    readSync(file, tail, 0, tailBytes, Math.max(0, size - tailBytes));
    const mark = tail.subarray(4).toString('latin1');
    if (mark === 'PARE') throw new CliError(`${name} is encrypted.`, 'Write it without encryption.');
    const length = tail.readUInt32LE(0) + tailBytes;
    if (mark !== 'PAR1' || length > size)
      throw new CliError(`${name} is damaged: it has no Parquet footer.`, 'It may be incomplete.');
    const footer = Buffer.allocUnsafeSlow(length);
    readSync(file, footer, 0, length, size - length);
    // The types of GeoParquet would be converted, which a copy must not.
    return parquetMetadata(footer, { geoparquet: false });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${name} is damaged: ${error instanceof Error ? error.message : String(error)}.`);
  } finally {
    closeSync(file);
  }
}

/** Column of primitive values: each column of a table has one, or several if it is nested. */
export interface Leaf {
  /** Index among the leaves of the file. */
  index: number;
  /** Nodes from the root to the leaf. */
  path: SchemaTree[];
}

/** Column of a table. */
export interface ParquetColumn {
  name: string;
  tree: SchemaTree;
  leaves: Leaf[];
  /** True for a list, map or struct. */
  isNested: boolean;
}

export function columnsOf(metadata: FileMetaData): ParquetColumn[] {
  const root = parquetSchema(metadata);
  let index = 0;
  const leavesOf = (path: SchemaTree[]): Leaf[] => {
    const { children } = path.at(-1)!;
    if (children.length === 0) return [{ index: index++, path }];
    return children.flatMap((child) => leavesOf([...path, child]));
  };
  return root.children.map((tree) => {
    const leaves = leavesOf([root, tree]);
    const isNested = tree.children.length > 0 || tree.element.repetition_type === 'REPEATED';
    return { name: tree.element.name, tree, leaves, isNested };
  });
}
