import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import { defaultLimits } from '../../../core/batch.ts';
import { CliError } from '../../shared/exit-codes.ts';

/** Input file, not validated: the server does that. */
export interface InputFile {
  path: string;
  /** Lower-case hex. */
  sha256: string;
  requests: number;
  /** Endpoint of the first request. */
  endpoint: string;
  /** One part for each batch, in the order of the file; one part for an empty file. */
  parts: InputPart[];
}

/** Input file that was read as a whole. */
export interface ReadInput extends InputFile {
  /** Fingerprints of the ids of all requests. */
  fingerprints: BigUint64Array;
}

/** Consecutive whole lines of an input file. */
export interface InputPart {
  linesBefore: number;
  /** Offset of the first byte. */
  offset: number;
  bytes: number;
  requests: number;
}

const blank = /^\s*$/;

/** Reads an input file and splits it by the limits of a batch. */
export async function readInput(path: string, signal?: AbortSignal): Promise<ReadInput> {
  const digest = createHash('sha256');
  const parts: InputPart[] = [emptyPart(0, 0)];
  let part = parts[0]!;
  let lines = 0;
  let endpoint: string | undefined;
  let fingerprints = new BigUint64Array(defaultLimits.requests);
  let ids = 0;
  for await (const line of splitLines(createReadStream(path, { signal }))) {
    digest.update(line.bytes);
    if (line.whole) digest.update('\n');
    const length = line.bytes.length + (line.whole ? 1 : 0);
    const isRequest = !isBlank(line.bytes);
    const isFull = part.requests === defaultLimits.requests || part.bytes + length > defaultLimits.bytes;
    if (isFull && isRequest && part.requests > 0) {
      part = emptyPart(lines, line.offset);
      parts.push(part);
    }
    lines++;
    part.bytes += length;
    if (!isRequest) continue;
    part.requests++;
    const request = parseLine(line.bytes);
    if (typeof request?.custom_id === 'string') {
      if (ids === fingerprints.length) fingerprints = doubled(fingerprints);
      fingerprints[ids++] = fingerprint(request.custom_id);
    }
    if (typeof request?.url === 'string') endpoint ??= request.url;
  }
  const requests = parts.reduce((sum, one) => sum + one.requests, 0);
  const sha256 = digest.digest('hex');
  return {
    path,
    sha256,
    requests,
    endpoint: endpoint ?? '/v1/chat/completions',
    parts,
    fingerprints: fingerprints.subarray(0, ids),
  };
}

function doubled(full: BigUint64Array<ArrayBuffer>): BigUint64Array<ArrayBuffer> {
  const larger = new BigUint64Array(full.length * 2);
  larger.set(full);
  return larger;
}

/** Ids of the requests of a part in their order, without those of invalid lines. */
export async function* readCustomIds(path: string, { offset, bytes }: InputPart): AsyncGenerator<string> {
  const chunks = createReadStream(path, { start: offset, end: offset + bytes - 1 });
  for await (const line of splitLines(chunks)) {
    const id = parseLine(line.bytes)?.['custom_id'];
    if (typeof id === 'string') yield id;
  }
}

function emptyPart(linesBefore: number, offset: number): InputPart {
  return { linesBefore, offset, bytes: 0, requests: 0 };
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.length < 100 && blank.test(Buffer.from(bytes).toString('latin1'));
}

/**
 * Rejects a duplicate `custom_id` across parts: the server checks only one batch at a time. Compares fingerprints of eight
 * bytes and reads the file again only if two are equal.
 * @throws CliError for a duplicate
 */
export async function refuseDuplicateIds({ path, fingerprints }: ReadInput): Promise<void> {
  fingerprints.sort();
  const repeated = new Set(fingerprints.filter((mark, at) => mark === fingerprints[at - 1]));
  if (repeated.size === 0) return;
  const first = new Map<string, number>();
  let number = 0;
  for await (const { bytes } of splitLines(createReadStream(path))) {
    number++;
    const id = parseLine(bytes)?.['custom_id'];
    if (typeof id !== 'string' || !repeated.has(fingerprint(id))) continue;
    const before = first.get(id);
    if (before !== undefined)
      throw new CliError(
        `Lines ${before} and ${number} have the same custom_id '${id}'.`,
        'Nothing was uploaded. Give each request a unique custom_id.',
      );
    first.set(id, number);
  }
}

function fingerprint(id: string): bigint {
  return hash('sha256', id, 'buffer').readBigUInt64LE();
}
