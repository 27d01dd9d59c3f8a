import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../core/errors.ts';
import type { ByteRange } from '../files/files.ts';

/**
 * The range of bytes that a request asks for (RFC 9110, section 14). The whole content is sent where it asks for several
 * ranges, in another unit, in no valid form, or of another content than `etag` names.
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
  throw new ApiError('range_not_satisfiable', `The file has ${size} bytes; none of them are in ${range}.`, {
    contentRange: `bytes */${size}`,
  });
}
