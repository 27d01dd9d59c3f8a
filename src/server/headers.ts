import type { IncomingMessage } from 'node:http';

/** Every occurrence of a header: Node keeps only the first of some that were sent twice. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  const raw = request.rawHeaders;
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.length === name.length && raw[at]?.toLowerCase() === name) values.push(raw[at + 1] ?? '');
  return values;
}

/** A value a client made up, short and printable, for the log or an echo. */
export function printable(value: string | string[] | undefined, maxLength = 200): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxLength);
}
