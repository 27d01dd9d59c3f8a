import type { ByteSource } from './byte-source.ts';
import { type Cursor, GgufFault, createCursor } from './cursor.ts';
import { tensorBytes } from './types.ts';

/** What stands before the weights of a GGUF file (as ggml describes the format), versions 2 and 3, little-endian. */
export interface GgufHeader {
  version: number;
  metadata: ReadonlyMap<string, MetadataValue>;
  tensors: readonly GgufTensor[];
  /** The size a whole file has at least; null when it has a kind of tensor that is not known here. */
  fileBytes: number | null;
}

export type MetadataValue = number | boolean | string | MetadataArray;

/** Of long arrays and arrays of texts, such as a vocabulary, only the length is kept. */
export interface MetadataArray {
  length: number;
  items: number[] | null;
}

export interface GgufTensor {
  name: string;
  /** Numbers in it. */
  elements: number;
  type: number;
  /** From where the weights begin. */
  offset: number;
}

/** What a file begins with. */
const ggufMagic = 'GGUF';
/** Vocabulary and merges of the largest tokenizers take some 20 MB. */
const longestHeader = 128 * 1024 ** 2;
const usualWindow = 1024 ** 2;
const mostEntries = 1_000_000;
const longestKeptArray = 4096;
const deepestArray = 4;
const usualAlignment = 32;

/** Throws unless a file beginning with `head` may be a GGUF model; at least 8 bytes are needed to tell. */
export function checkMagic(head: Uint8Array): void {
  const begin = Buffer.from(head.subarray(0, 8));
  if (begin.subarray(0, 4).toString('latin1') === ggufMagic && begin.length === 8) {
    const version = begin.readUInt32LE(4);
    if (version === 2 || version === 3) return;
    if (begin.readUInt32BE(4) <= 3) throw new GgufFault('it is made for big-endian machines');
    throw new GgufFault(`its version ${version} is not known; 2 and 3 are`);
  }
  if (begin.length < 8) throw new GgufFault(`it has ${begin.length} bytes`);
  const isPage = /^\s*<(!doc|html|\?xml)/i.test(begin.toString('latin1'));
  if (isPage) throw new GgufFault('it is a web page');
  if (begin.toString('latin1') === 'version ')
    throw new GgufFault('it is a pointer of Git LFS, not the file itself');
  throw new GgufFault(`it begins with ${JSON.stringify(begin.toString('latin1'))}, not with ${ggufMagic}`);
}

/**
 * Reads the header and nothing behind it.
 * @throws GgufFault
 */
export async function readGgufHeader(source: ByteSource, windowBytes = usualWindow): Promise<GgufHeader> {
  const cursor = createCursor(source, windowBytes, longestHeader);
  const begin = await source.read(0, 8);
  checkMagic(begin);
  cursor.skip(begin.length);
  const tensorCount = atMost(await cursor.u64(), 'tensors');
  const entryCount = atMost(await cursor.u64(), 'metadata entries');
  const metadata = new Map<string, MetadataValue>();
  for (let i = 0; i < entryCount; i++) {
    const key = await cursor.text();
    metadata.set(key, await readValue(cursor, await cursor.u32(), 0));
  }
  const tensors: GgufTensor[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(await readTensor(cursor));
  return {
    version: begin.readUInt32LE(4),
    metadata,
    tensors,
    fileBytes: wholeSize(tensors, metadata, cursor.offset),
  };
}

function atMost(count: number, what: string): number {
  if (count > mostEntries) throw new GgufFault(`it claims to have ${count} ${what}`);
  return count;
}

async function readValue(cursor: Cursor, type: number, depth: number): Promise<MetadataValue> {
  if (type === valueTypes.text) return cursor.text();
  if (type === valueTypes.array) return readArray(cursor, depth + 1);
  const scalar = scalars[type];
  if (scalar === undefined) throw new GgufFault(`it holds a value of the unknown type ${type}`);
  return scalar.read(await cursor.bytes(scalar.bytes));
}

async function readArray(cursor: Cursor, depth: number): Promise<MetadataArray> {
  if (depth > deepestArray) throw new GgufFault('its metadata are nested too deeply');
  const type = await cursor.u32();
  const length = await cursor.u64();
  const scalar = scalars[type];
  if (scalar === undefined) {
    for (let i = 0; i < length; i++) {
      if (type === valueTypes.text) await cursor.skipText();
      else await readValue(cursor, type, depth);
    }
    return { length, items: null };
  }
  if (length > longestKeptArray) {
    cursor.skip(length * scalar.bytes);
    return { length, items: null };
  }
  const items: number[] = [];
  for (let i = 0; i < length; i++) items.push(Number(scalar.read(await cursor.bytes(scalar.bytes))));
  return { length, items };
}

async function readTensor(cursor: Cursor): Promise<GgufTensor> {
  const name = await cursor.text();
  const dimensions = await cursor.u32();
  if (dimensions > 8) throw new GgufFault(`its tensor ${name} has ${dimensions} dimensions`);
  let elements = 1;
  for (let i = 0; i < dimensions; i++) elements *= await cursor.u64();
  return { name, elements, type: await cursor.u32(), offset: await cursor.u64() };
}

function wholeSize(
  tensors: readonly GgufTensor[],
  metadata: ReadonlyMap<string, MetadataValue>,
  headerEnd: number,
): number | null {
  const declared = metadata.get('general.alignment');
  const alignment = typeof declared === 'number' && declared > 0 ? declared : usualAlignment;
  let end = headerEnd;
  for (const { elements, type, offset } of tensors) {
    const bytes = tensorBytes(type, elements);
    if (bytes === undefined) return null;
    end = Math.max(end, Math.ceil(headerEnd / alignment) * alignment + offset + bytes);
  }
  return end;
}

const valueTypes = { text: 8, array: 9 } as const;

interface Scalar {
  bytes: number;
  read(bytes: Buffer): number | boolean;
}

/** By the number of their type. Whole numbers of 64 bits lose what no count or id has. */
const scalars: Record<number, Scalar | undefined> = {
  0: { bytes: 1, read: (bytes) => bytes.readUInt8() },
  1: { bytes: 1, read: (bytes) => bytes.readInt8() },
  2: { bytes: 2, read: (bytes) => bytes.readUInt16LE() },
  3: { bytes: 2, read: (bytes) => bytes.readInt16LE() },
  4: { bytes: 4, read: (bytes) => bytes.readUInt32LE() },
  5: { bytes: 4, read: (bytes) => bytes.readInt32LE() },
  6: { bytes: 4, read: (bytes) => bytes.readFloatLE() },
  7: { bytes: 1, read: (bytes) => bytes.readUInt8() !== 0 },
  10: { bytes: 8, read: (bytes) => Number(bytes.readBigUInt64LE()) },
  11: { bytes: 8, read: (bytes) => Number(bytes.readBigInt64LE()) },
  12: { bytes: 8, read: (bytes) => bytes.readDoubleLE() },
};
