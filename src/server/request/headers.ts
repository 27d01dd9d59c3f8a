import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../core/errors.ts';

/** All values of a header: for some headers Node keeps only the first of several. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  const raw = request.rawHeaders;
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.length === name.length && raw[at]?.toLowerCase() === name) values.push(raw[at + 1] ?? '');
  return values;
}

/** Security-relevant headers of which Node keeps only the first. Accounts check Authorization themselves. */
const single = ['Host', 'Content-Type'];

/**
 * Rejects repeated headers: a proxy in front may have used the other value.
 * @throws ApiError `duplicate_header`
 */
export function refuseDuplicateHeaders(request: IncomingMessage): void {
  for (const name of single)
    if (headerValues(request, name.toLowerCase()).length > 1)
      throw new ApiError('duplicate_header', `The ${name} header was sent more than once. Send it once.`);
}

/** Header value of a client as at most 200 printable ASCII characters, for logs and echoes. */
export function printable(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
