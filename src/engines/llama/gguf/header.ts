import { type Cursor, GgufFault, HeaderCutShort, createCursor } from './cursor.ts';
import { tensorBytes } from './types.ts';

/** Header of a GGUF file, versions 2 and 3, little-endian. */
export interface GgufHeader {
  metadata: ReadonlyMap<string, MetadataValue>;
  tensors: readonly GgufTensor[];
  /** Smallest size of a complete file; null with an unknown tensor type. */
  fileBytes: number | null;
}

/** `items` is null for long arrays and arrays of texts, such as a vocabulary. */
export type MetadataValue = number | boolean | string | { length: number; items: number[] | null };

export interface GgufTensor {
  name: string;
  /** Count of its numbers. */
  elements: number;
  type: number;
  /** From the start of the weights, in bytes. */
  offset: number;
}

/** First bytes of a file; the version follows. */
const ggufMagic = 'GGUF';
const magicBytes = 8;
/** Vocabulary and merges of the largest tokenizers take some 20 MB. */
const maxHeaderBytes = 64 * 1024 ** 2;
const maxEntries = 1_000_000;
const maxKeptItems = 4096;
const maxArrayDepth = 4;
const usualAlignment = 32;

/** Requires that a file that begins with `head`, of 8 bytes or more, can be a GGUF model. @throws GgufFault */
export function checkMagic(head: Uint8Array): void {
  const begin = Buffer.from(head.subarray(0, magicBytes));
  if (begin.subarray(0, 4).toString('latin1') === ggufMagic && begin.length === magicBytes) {
    const version = begin.readUInt32LE(4);
    if (version === 2 || version === 3) return;
    if (begin.readUInt32BE(4) <= 3) throw new GgufFault('it is for big-endian machines');
    throw new GgufFault(`its version ${version} is unsupported; 2 and 3 are supported`);
  }
  if (begin.length < magicBytes) throw new GgufFault(`it has only ${begin.length} bytes`);
  const text = begin.toString('latin1');
  if (/^\s*<(!doc|html|\?xml)/i.test(text)) throw new GgufFault('it is a web page');
  if (text === 'version ') throw new GgufFault('it is a Git LFS pointer, not the file itself');
  throw new GgufFault(`it begins with ${JSON.stringify(text)}, not with ${ggufMagic}`);
}

/** Reads the header at the start of a file, and at most twice its length. @throws GgufFault */
export async function readGgufHeader(pieces: AsyncIterable<Buffer>): Promise<GgufHeader> {
  let held: Buffer[] = [];
  let length = 0;
  let next = magicBytes;
  for await (const piece of pieces) {
    held.push(piece);
    length += piece.length;
    if (length < next) continue;
    held = [Buffer.concat(held)];
    try {
      return parseHeader(held[0]!);
    } catch (error) {
      if (!(error instanceof HeaderCutShort)) throw error;
    }
    // Parsing restarts each time, so it waits for twice as many bytes.
    next = Math.min(2 * length, maxHeaderBytes);
  }
  return parseHeader(Buffer.concat(held));
}

function parseHeader(bytes: Buffer): GgufHeader {
  checkMagic(bytes);
  const cursor = createCursor(bytes, maxHeaderBytes);
  cursor.take(magicBytes);
  const tensorCount = atMost(cursor.u64(), 'tensors');
  const entryCount = atMost(cursor.u64(), 'metadata entries');
  const metadata = new Map<string, MetadataValue>();
  for (let i = 0; i < entryCount; i++) metadata.set(cursor.text(), readValue(bytes, cursor, cursor.u32(), 0));
  const tensors: GgufTensor[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(readTensor(cursor));
  return { metadata, tensors, fileBytes: wholeSize(tensors, metadata, cursor.offset) };
}

function atMost(count: number, what: string): number {
  if (count > maxEntries) throw new GgufFault(`it claims to have ${count} ${what}`);
  return count;
}

function readValue(bytes: Buffer, cursor: Cursor, type: number, depth: number): MetadataValue {
  if (type === valueTypes.text) return cursor.text();
  if (type === valueTypes.array) return readArray(bytes, cursor, depth + 1);
  const scalar = scalars[type];
  if (scalar === undefined) throw new GgufFault(`it contains a value of the unknown type ${type}`);
  return scalar.read(bytes, cursor.take(scalar.bytes));
}

function readArray(bytes: Buffer, cursor: Cursor, depth: number): MetadataValue {
  if (depth > maxArrayDepth) throw new GgufFault('its metadata is nested too deeply');
  const type = cursor.u32();
  const length = cursor.u64();
  const scalar = scalars[type];
  if (scalar === undefined) {
    for (let i = 0; i < length; i++) {
      if (type === valueTypes.text) cursor.skipText();
      else readValue(bytes, cursor, type, depth);
    }
    return { length, items: null };
  }
  const start = cursor.take(length * scalar.bytes);
  if (length > maxKeptItems) return { length, items: null };
  const items = Array.from({ length }, (_, i) => Number(scalar.read(bytes, start + i * scalar.bytes)));
  return { length, items };
}

function readTensor(cursor: Cursor): GgufTensor {
  const name = cursor.text();
  const dimensions = cursor.u32();
  if (dimensions > 8) throw new GgufFault(`its tensor ${name} has ${dimensions} dimensions`);
  let elements = 1;
  for (let i = 0; i < dimensions; i++) elements *= cursor.u64();
  return { name, elements, type: cursor.u32(), offset: cursor.u64() };
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
  read(bytes: Buffer, at: number): number | boolean;
}

/** Readers by type number. 64-bit integers lose precision above 2^53, beyond any count or ID. */
const scalars: Record<number, Scalar | undefined> = {
  0: { bytes: 1, read: (bytes, at) => bytes.readUInt8(at) },
  1: { bytes: 1, read: (bytes, at) => bytes.readInt8(at) },
  2: { bytes: 2, read: (bytes, at) => bytes.readUInt16LE(at) },
  3: { bytes: 2, read: (bytes, at) => bytes.readInt16LE(at) },
  4: { bytes: 4, read: (bytes, at) => bytes.readUInt32LE(at) },
  5: { bytes: 4, read: (bytes, at) => bytes.readInt32LE(at) },
  6: { bytes: 4, read: (bytes, at) => bytes.readFloatLE(at) },
  7: { bytes: 1, read: (bytes, at) => bytes.readUInt8(at) !== 0 },
  10: { bytes: 8, read: (bytes, at) => Number(bytes.readBigUInt64LE(at)) },
  11: { bytes: 8, read: (bytes, at) => Number(bytes.readBigInt64LE(at)) },
  12: { bytes: 8, read: (bytes, at) => bytes.readDoubleLE(at) },
};
