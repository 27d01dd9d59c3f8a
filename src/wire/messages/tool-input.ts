import { isObject } from '../../base/fields.ts';
import { parseExact } from '../json/exact-numbers.ts';

/**
 * The arguments of a call as the object that messages want. Arguments that were cut are closed at the last complete value;
 * what still is no object becomes `{}`.
 */
export function parseToolInput(json: string): object {
  return objectIn(json) ?? objectIn(closed(json)) ?? {};
}

/** Whether the arguments are a whole object. */
export function isCompleteInput(json: string): boolean {
  // Asked again with every piece: most pieces end in the middle of something.
  const last = json.trimEnd().at(-1);
  return (last === '}' || last === '"') && objectIn(json) !== undefined;
}

function objectIn(json: string): object | undefined {
  try {
    let value = parseExact(json);
    // Some models write JSON inside a string.
    if (typeof value === 'string') value = parseExact(value);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Strings, brackets, separators, and the words between them; a quote alone begins a string without an end. */
const tokens = /"(?:[^"\\]|\\.)*"|"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** A text of JSON up to its last complete value, with the brackets closed that are open there. */
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
