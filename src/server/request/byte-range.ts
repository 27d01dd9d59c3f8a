import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../core/errors.ts';
import type { ByteRange } from '../../files/files.ts';

/**
 * Byte range of a request (RFC 9110, section 14). Undefined, for the whole content, without a range and for several
 * ranges, another unit, an invalid range or an `If-Range` other than `etag`.
 * @throws ApiError `range_not_satisfiable`
 */
export function readRange(
  { range, 'if-range': condition }: IncomingHttpHeaders,
  { size, etag }: { size: number; etag: string },
): ByteRange | undefined {
  const [, first, last] = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)$/i.exec(range ?? '') ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  if (condition !== undefined && condition !== etag) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start < end) return { start, end };
  throw new ApiError(
    'range_not_satisfiable',
    `The range ${range} is outside the file, which has ${size} bytes.`,
    { contentRange: `bytes */${size}` },
  );
}
