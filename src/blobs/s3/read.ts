import { BlobError } from '../../core/blob-error.ts';
import type { S3Client } from './client.ts';

/** What one request brings; a reader who is slow holds no more than that, and no connection. */
const pieceBytes = 1024 * 1024;
const chunkBytes = 256 * 1024;

export interface Piece {
  bytes: Buffer;
  /** Of the whole object. */
  size: number;
}

/** Bytes of an object, fewer where it ends before; undefined where there is none. */
export async function getPiece(
  client: S3Client,
  key: string,
  start: number,
  length: number,
): Promise<Piece | undefined> {
  const headers = { range: `bytes=${start}-${start + length - 1}` };
  const may = ['NoSuchKey', 'InvalidRange', '404', '416'];
  const { status, headers: said, body } = await client.send({ method: 'GET', key, headers, may });
  if (status === 404) return undefined;
  if (status === 416) {
    const size = await sizeOf(client, key);
    return size === undefined ? undefined : { bytes: Buffer.alloc(0), size };
  }
  const size = /\/(\d+)$/.exec(String(said['content-range']))?.[1];
  if (status === 206 && size !== undefined) return { bytes: body, size: Number(size) };
  if (start === 0 && body.length <= length) return { bytes: body, size: body.length };
  throw new BlobError(
    'unavailable',
    'The object store does not give parts of objects.',
    'Use one that does.',
  );
}

export async function sizeOf(client: S3Client, key: string): Promise<number | undefined> {
  const { status, headers } = await client.send({ method: 'HEAD', key, may: ['404'] });
  return status === 404 ? undefined : Number(headers['content-length']);
}

/** Hands out `first`, then what follows up to `end`, piece by piece. */
export async function* piecesFrom(
  first: Buffer,
  start: number,
  end: number,
  get: (offset: number, length: number) => Promise<Buffer>,
): AsyncGenerator<Uint8Array> {
  for (let at = start, piece = first; at < end;) {
    for (let from = 0; from < piece.length; from += chunkBytes) yield piece.subarray(from, from + chunkBytes);
    at += piece.length;
    if (at < end) piece = await get(at, pieceLength(at, end));
  }
}

export function pieceLength(start: number, end = Infinity): number {
  return Math.min(pieceBytes, end - start);
}
