import type { IncomingMessage } from 'node:http';
import { ApiError } from '../core/errors.ts';

/** Every occurrence of a header: Node keeps only the first of some that were sent twice. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  const raw = request.rawHeaders;
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.length === name.length && raw[at]?.toLowerCase() === name) values.push(raw[at + 1] ?? '');
  return values;
}

/** Those that decide something and of which Node hides all but the first; Authorization is the business of accounts. */
const single = ['Host', 'Content-Type'];

/**
 * What stands before us may have decided by the other one.
 * @throws ApiError `duplicate_header`
 */
export function refuseDuplicateHeaders(request: IncomingMessage): void {
  for (const name of single)
    if (headerValues(request, name.toLowerCase()).length > 1)
      throw new ApiError('duplicate_header', `${name} was sent more than once; send it once.`);
}

/** A value a client made up, short and printable, for the log or an echo. */
export function printable(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
