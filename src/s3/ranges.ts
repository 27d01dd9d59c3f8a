import type { S3Client } from './client.ts';

/** Limit of one request, so that a slow reader holds little memory and no connection. */
const maxRangeBytes = 1024 * 1024;
const chunkBytes = 256 * 1024;

export interface ObjectRange {
  bytes: Buffer;
  /** Bytes of the whole object. */
  size: number;
  /** Changes with the object; undefined for an empty range. */
  etag?: string;
}

/** Reads up to `length` bytes of an object; undefined if it is missing. */
export async function getRange(
  client: S3Client,
  key: string,
  start: number,
  length: number,
): Promise<ObjectRange | undefined> {
  const headers = { range: `bytes=${start}-${start + length - 1}` };
  const accept = ['NoSuchKey', 'InvalidRange', '404', '416'];
  const { status, headers: answered, body } = await client.send({ method: 'GET', key, headers, accept });
  if (status === 404) return undefined;
  if (status === 416) {
    const size = await getSize(client, key);
    return size === undefined ? undefined : { bytes: Buffer.alloc(0), size };
  }
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(String(answered['content-range'])) ?? [];
  const etag = answered['etag'] === undefined ? {} : { etag: String(answered['etag']) };
  // rclone sends a range with status 200.
  if (Number(from) === start && body.length <= length) return { bytes: body, size: Number(size), ...etag };
  if (from === undefined && start === 0 && body.length <= length)
    return { bytes: body, size: body.length, ...etag };
  throw client.toError({ kind: 'ranges', message: 'The object store does not support range requests.' });
}

export async function getSize(client: S3Client, key: string): Promise<number | undefined> {
  const { status, headers } = await client.send({ method: 'HEAD', key, accept: ['404'] });
  return status === 404 ? undefined : Number(headers['content-length']);
}

/** Yields `first`, then the bytes up to `end`, in chunks. */
export async function* streamRanges(
  first: Buffer,
  start: number,
  end: number,
  get: (offset: number, length: number) => Promise<Buffer>,
): AsyncGenerator<Uint8Array> {
  for (let at = start, range = first; at < end;) {
    for (let from = 0; from < range.length; from += chunkBytes) yield range.subarray(from, from + chunkBytes);
    at += range.length;
    if (at < end) range = await get(at, rangeLength(at, end));
  }
}

export function rangeLength(start: number, end = Infinity): number {
  return Math.min(maxRangeBytes, end - start);
}
