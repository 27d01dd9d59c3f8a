import { isObject } from '../../base/fields.ts';
import { parseExact } from '../json/exact-numbers.ts';

/** Parses the arguments of a call. Truncated JSON is closed after its last complete value; anything but an object becomes `{}`. */
export function parseToolInput(json: string): object {
  return objectIn(json) ?? objectIn(closed(json)) ?? {};
}

/** True if the arguments are a complete object. */
export function isCompleteInput(json: string): boolean {
  // Fast path: called for every piece, and most pieces end inside a value.
  const last = json.trimEnd().at(-1);
  return (last === '}' || last === '"') && objectIn(json) !== undefined;
}

function objectIn(json: string): object | undefined {
  try {
    let value = parseExact(json);
    // Some models write JSON in a string.
    if (typeof value === 'string') value = parseExact(value);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Strings, brackets, separators and other words; a single quote begins an unterminated string. */
const tokens = /"(?:[^"\\]|\\.)*"|"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** Cuts JSON after its last complete value, and closes the open brackets. */
function closed(json: string): string {
  const open: string[] = [];
  let best = { end: 0, closers: '' };
  let isKey = false;
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token === '"') break;
    const end = index + token.length;
    if (token === ',') isKey = open.at(-1) === '}';
    else if (token === ':') isKey = false;
    else if (token === '{' || token === '[') {
      open.push(token === '{' ? '}' : ']');
      isKey = token === '{';
      best = { end, closers: open.toReversed().join('') };
    } else {
      if (token === open.at(-1)) open.pop();
      else if (isKey || (end === json.length && !token.endsWith('"'))) continue;
      best = { end, closers: open.toReversed().join('') };
      isKey = false;
    }
  }
  return json.slice(0, best.end) + best.closers;
}
