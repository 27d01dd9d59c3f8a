import { crc32 } from 'node:zlib';
import { BlobError } from '../core/blob-error.ts';
import { type InputIndex, prefixLevels } from './input-index.ts';

/**
 * The index as bytes, about 54 a request: a header, the model names as JSON, then one column after the other, widest
 * first so that each is aligned. Little-endian, as every platform of Node is.
 *
 *   0  magic "OPIX"      4  version      8  requests     12  bytes of the names    16  CRC-32 of all behind the header
 */
const magic = 0x5849504f;
const version = 2;
/** Without the sums of the lines, which then cannot be told from damaged ones. */
const versionWithoutSums = 1;
const headerBytes = 24;

export function encodeIndex(index: InputIndex): Uint8Array {
  const names = new TextEncoder().encode(JSON.stringify(index.models));
  const columns = columnsOf(index.count, names.length, index.sum !== undefined);
  const bytes = new Uint8Array(columns.end);
  bytes.set(names, headerBytes);
  const { buffer } = bytes;
  new Float64Array(buffer, columns.offset, index.count).set(index.offset);
  new Uint32Array(buffer, columns.length, index.count).set(index.length);
  new Uint32Array(buffer, columns.est, index.count).set(index.est);
  new Uint32Array(buffer, columns.hashes, index.count * prefixLevels).set(index.hashes);
  if (index.sum) new Uint32Array(buffer, columns.sum, index.count).set(index.sum);
  new Uint16Array(buffer, columns.model, index.count).set(index.model);
  const format = index.sum ? version : versionWithoutSums;
  const header = [magic, format, index.count, names.length, crc32(bytes.subarray(headerBytes))];
  new Uint32Array(buffer, 0, header.length).set(header);
  return bytes;
}

/** @throws BlobError `damaged` when the bytes are no index, of another version, or damaged */
export function decodeIndex(bytes: Uint8Array): InputIndex {
  if (bytes.length < headerBytes) throw damaged('it is too short');
  // A copy of its own starts at an aligned address.
  const { buffer } = new Uint8Array(bytes);
  const [mark, format, count, namesLength, checksum] = new Uint32Array(buffer, 0, headerBytes / 4);
  if (mark !== magic) throw damaged('it does not begin like one');
  if (format !== version && format !== versionWithoutSums)
    throw damaged(`its version is ${format}, not ${version}`);
  const columns = columnsOf(count!, namesLength!, format === version);
  if (columns.end !== bytes.length) throw damaged('its length is wrong');
  if (crc32(bytes.subarray(headerBytes)) !== checksum) throw damaged('its checksum is wrong');
  const names = new TextDecoder().decode(bytes.subarray(headerBytes, headerBytes + namesLength!));
  return {
    count: count!,
    models: JSON.parse(names) as string[],
    offset: new Float64Array(buffer, columns.offset, count),
    length: new Uint32Array(buffer, columns.length, count),
    est: new Uint32Array(buffer, columns.est, count),
    hashes: new Uint32Array(buffer, columns.hashes, count! * prefixLevels),
    model: new Uint16Array(buffer, columns.model, count),
    ...(format === version && { sum: new Uint32Array(buffer, columns.sum, count) }),
  };
}

function columnsOf(count: number, namesLength: number, hasSums: boolean) {
  const offset = Math.ceil((headerBytes + namesLength) / 8) * 8;
  const length = offset + count * 8;
  const est = length + count * 4;
  const hashes = est + count * 4;
  const sum = hashes + count * prefixLevels * 4;
  const model = sum + (hasSums ? count * 4 : 0);
  return { offset, length, est, hashes, sum, model, end: model + count * 2 };
}

function damaged(why: string): BlobError {
  return new BlobError(
    'damaged',
    `An index of an input file cannot be read: ${why}.`,
    'Restore the files from a backup.',
  );
}
