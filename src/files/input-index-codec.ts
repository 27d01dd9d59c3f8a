import { crc32 } from 'node:zlib';
import { type BlobError, lostBlob } from '../core/blob-error.ts';
import { type InputIndex, prefixLevels } from './input-index.ts';

/**
 * Binary form of the index, about 54 bytes a request: a header, the model names as JSON, then one column after the other, widest
 * first so that each is aligned. Little-endian, like every platform of Node.
 *
 *   0  magic "OPIX"      4  version      8  requests     12  bytes of the names    16  CRC-32 of everything after the header
 */
const magic = 0x5849504f;
const version = 2;
/** Without checksums, so that damaged lines are not detected. */
const versionWithoutSums = 1;
const headerBytes = 24;

/** Name, element type, and elements per request. */
const columns = [
  ['offset', Float64Array, 1],
  ['length', Uint32Array, 1],
  ['est', Uint32Array, 1],
  ['hashes', Uint32Array, prefixLevels],
  ['sum', Uint32Array, 1],
  ['model', Uint16Array, 1],
] as const;

export function encodeIndex(index: InputIndex): Uint8Array {
  const names = new TextEncoder().encode(JSON.stringify(index.models));
  const format = index.sum ? version : versionWithoutSums;
  const { views, end } = layOut(index.count, names.length, format);
  const bytes = new Uint8Array(end);
  bytes.set(names, headerBytes);
  for (const { name, view } of views) view(bytes.buffer).set(index[name]!);
  const header = [magic, format, index.count, names.length, crc32(bytes.subarray(headerBytes))];
  new Uint32Array(bytes.buffer, 0, header.length).set(header);
  return bytes;
}

/** @throws BlobError `damaged` also for another format or version */
export function decodeIndex(bytes: Uint8Array): InputIndex {
  if (bytes.length < headerBytes) throw damaged('it is too short');
  // The copy starts at an aligned address.
  const { buffer } = new Uint8Array(bytes);
  const [mark, format, count, namesLength, checksum] = new Uint32Array(buffer, 0, headerBytes / 4);
  if (mark !== magic) throw damaged('it does not start with OPIX');
  if (format !== version && format !== versionWithoutSums)
    throw damaged(`its version is ${format}, not ${version}`);
  const { views, end } = layOut(count!, namesLength!, format);
  if (end !== bytes.length) throw damaged('its length is wrong');
  if (crc32(bytes.subarray(headerBytes)) !== checksum) throw damaged('its checksum is wrong');
  const names = new TextDecoder().decode(bytes.subarray(headerBytes, headerBytes + namesLength!));
  const filled = Object.fromEntries(views.map(({ name, view }) => [name, view(buffer)]));
  return { count, models: JSON.parse(names) as string[], ...filled } as InputIndex;
}

function layOut(count: number, namesLength: number, format: number) {
  let end = Math.ceil((headerBytes + namesLength) / 8) * 8;
  const views = columns
    .filter(([name]) => name !== 'sum' || format === version)
    .map(([name, Kind, each]) => {
      const at = end;
      end += count * each * Kind.BYTES_PER_ELEMENT;
      return { name, view: (buffer: ArrayBuffer) => new Kind(buffer, at, count * each) };
    });
  return { views, end };
}

function damaged(why: string): BlobError {
  return lostBlob('damaged', `The index of an input file cannot be read: ${why}.`);
}
