import type { ByteRange } from '../../files/files.ts';
import { type Answer, bytes } from './answer.ts';
import { readRange } from '../request/byte-range.ts';
import type { Incoming } from '../route.ts';

/** Content that never changes. */
export interface RangedContent {
  /** In bytes. */
  size: number;
  /** Hex digits that name the content. */
  sha256: string;
  read: (range?: ByteRange) => Promise<AsyncIterable<Uint8Array>>;
}

/**
 * Answer with the content, or with the part of it that a `Range` asks for (206), so that an interrupted download can be resumed.
 * @throws ApiError `range_not_satisfiable` (416), and the errors of `read`
 */
export async function rangedBytes(
  { method, headers }: Pick<Incoming, 'method' | 'headers'>,
  { size, sha256, read }: RangedContent,
  given: Record<string, string>,
): Promise<Answer> {
  const etag = `"${sha256}"`;
  const whole = { ...given, 'content-length': String(size), 'accept-ranges': 'bytes', etag };
  if (method === 'HEAD') return bytes(null, whole);
  const range = readRange(headers, { size, etag });
  const content = await read(range);
  if (!range) return bytes(content, whole);
  const { start, end } = range;
  const part = {
    ...whole,
    'content-length': String(end - start),
    'content-range': `bytes ${start}-${end - 1}/${size}`,
  };
  return bytes(content, part, 206);
}
