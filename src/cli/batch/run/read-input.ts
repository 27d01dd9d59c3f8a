import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import { defaultLimits } from '../../../core/batch.ts';
import { CliError } from '../../shared/exit-codes.ts';

/** What the command line knows of an input file. The server alone judges whether it is valid. */
export interface InputFile {
  path: string;
  /** SHA-256 of its bytes, lower-case hex. */
  sha256: string;
  requests: number;
  /** What the first request names. */
  endpoint: string;
  /** What goes into each batch, in the order of the file; one part for an empty file. */
  parts: InputPart[];
}

/** Whole lines of an input file that stand together. */
export interface InputPart {
  /** Lines of the file that stand before it. */
  linesBefore: number;
  /** Of its first byte in the file. */
  offset: number;
  bytes: number;
  requests: number;
  /** Of its requests, in their order; lines that cannot be read are left out. */
  customIds: string[];
}

const blank = /^\s*$/;

/** A file of more than one batch takes becomes several. */
export async function readInput(path: string, signal?: AbortSignal): Promise<InputFile> {
  const digest = createHash('sha256');
  const parts: InputPart[] = [emptyPart(0, 0)];
  let part = parts[0]!;
  let lines = 0;
  let endpoint: string | undefined;
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
    if (typeof request?.custom_id === 'string') part.customIds.push(request.custom_id);
    if (typeof request?.url === 'string') endpoint ??= request.url;
  }
  const requests = parts.reduce((sum, one) => sum + one.requests, 0);
  const sha256 = digest.digest('hex');
  return { path, sha256, requests, endpoint: endpoint ?? '/v1/chat/completions', parts };
}

function emptyPart(linesBefore: number, offset: number): InputPart {
  return { linesBefore, offset, bytes: 0, requests: 0, customIds: [] };
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.length < 100 && blank.test(Buffer.from(bytes).toString('latin1'));
}

/**
 * A server knows one batch at a time: of two with one `custom_id` nobody would know whose result is whose. What is kept
 * is eight bytes a request; only where two are alike the file is read again, for their lines.
 * @throws CliError where a `custom_id` stands twice
 */
export async function refuseDuplicateIds(path: string, parts: readonly InputPart[]): Promise<void> {
  const marks = new BigUint64Array(parts.reduce((sum, { customIds }) => sum + customIds.length, 0));
  let count = 0;
  for (const { customIds } of parts) for (const id of customIds) marks[count++] = fingerprint(id);
  marks.sort();
  const doubtful = new Set(marks.filter((mark, at) => mark === marks[at - 1]));
  if (doubtful.size === 0) return;
  const first = new Map<string, number>();
  let number = 0;
  for await (const { bytes } of splitLines(createReadStream(path))) {
    number++;
    const id = parseLine(bytes)?.['custom_id'];
    if (typeof id !== 'string' || !doubtful.has(fingerprint(id))) continue;
    const before = first.get(id);
    if (before !== undefined)
      throw new CliError(
        `Lines ${before} and ${number} have the same custom_id '${id}'.`,
        'Nothing was uploaded: each request needs a custom_id of its own.',
      );
    first.set(id, number);
  }
}

function fingerprint(id: string): bigint {
  return hash('sha256', id, 'buffer').readBigUInt64LE();
}
