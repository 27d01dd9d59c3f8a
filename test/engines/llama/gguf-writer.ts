import { writeFileSync } from 'node:fs';

/**
 * Writes GGUF version 3 (little-endian), the format that ggml describes: header, metadata, tensor infos,
 * then the tensor data, every part aligned to 32 bytes.
 */
export type MetadataValue =
  | { type: 'u16' | 'u32' | 'i32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'strings'; value: readonly string[] }
  | { type: 'i32s'; value: readonly number[] };

export type TensorType = 'F32' | 'F16' | 'Q8_0';

export interface Tensor {
  name: string;
  /** Innermost dimension first: a row of the matrix is contiguous. */
  dimensions: readonly number[];
  type: TensorType;
  data: Float32Array;
}

const alignment = 32;
const typeCodes = { u16: 2, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const tensorCodes: Record<TensorType, number> = { F32: 0, F16: 1, Q8_0: 8 };

/** Returns the number of bytes written. */
export function writeGguf(
  path: string,
  metadata: Readonly<Record<string, MetadataValue>>,
  tensors: readonly Tensor[],
): number {
  const parts: Buffer[] = [
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(Object.keys(metadata).length),
  ];
  for (const [key, value] of Object.entries(metadata)) parts.push(text(key), encodeValue(value));
  const blobs = tensors.map((tensor) => padded(encodeTensor(tensor)));
  let offset = 0;
  for (const [index, { name, dimensions, type }] of tensors.entries()) {
    parts.push(
      text(name),
      u32(dimensions.length),
      ...dimensions.map(u64),
      u32(tensorCodes[type]),
      u64(offset),
    );
    offset += blobs[index]!.length;
  }
  const file = Buffer.concat([padded(Buffer.concat(parts)), ...blobs]);
  writeFileSync(path, file);
  return file.length;
}

function encodeValue(entry: MetadataValue): Buffer {
  switch (entry.type) {
    case 'u16':
      return Buffer.concat([u32(typeCodes.u16), Buffer.from(Uint16Array.of(entry.value).buffer)]);
    case 'i32':
      return Buffer.concat([u32(typeCodes.i32), Buffer.from(Int32Array.of(entry.value).buffer)]);
    case 'u32':
      return Buffer.concat([u32(typeCodes.u32), u32(entry.value)]);
    case 'f32':
      return Buffer.concat([u32(typeCodes.f32), Buffer.from(Float32Array.of(entry.value).buffer)]);
    case 'bool':
      return Buffer.concat([u32(typeCodes.bool), Buffer.of(entry.value ? 1 : 0)]);
    case 'string':
      return Buffer.concat([u32(typeCodes.string), text(entry.value)]);
    case 'strings':
      return Buffer.concat([arrayHead(typeCodes.string, entry.value.length), ...entry.value.map(text)]);
    default:
      return Buffer.concat([
        arrayHead(typeCodes.i32, entry.value.length),
        Buffer.from(Int32Array.from(entry.value).buffer),
      ]);
  }
}

function arrayHead(elementType: number, length: number): Buffer {
  return Buffer.concat([u32(typeCodes.array), u32(elementType), u64(length)]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function padded(bytes: Buffer): Buffer {
  const rest = bytes.length % alignment;
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(alignment - rest)]);
}

function encodeTensor({ type, data, dimensions }: Tensor): Buffer {
  switch (type) {
    case 'F32':
      return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    case 'F16':
      return Buffer.from(Float16Array.from(data).buffer);
    default:
      return encodeQ8(data, dimensions[0]!);
  }
}

const blockLength = 32;

/** Blocks of 32 values: the largest magnitude / 127 as a half float, then each value in that unit as a byte. */
function encodeQ8(data: Float32Array, rowLength: number): Buffer {
  if (rowLength % blockLength !== 0) throw new Error(`Q8_0 rows must be multiples of ${blockLength}.`);
  const blocks: Buffer[] = [];
  for (let start = 0; start < data.length; start += blockLength) {
    const block = data.subarray(start, start + blockLength);
    const unit = block.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0) / 127;
    const quantised = Int8Array.from(block, (x) => (unit === 0 ? 0 : Math.round(x / unit)));
    blocks.push(Buffer.from(Float16Array.of(unit).buffer), Buffer.from(quantised.buffer));
  }
  return Buffer.concat(blocks);
}
