import { fieldsOf, parseOrUndefined } from '../../../../base/fields.ts';
import { possibleStart } from '../../../../base/possible-start.ts';
import type { CallFormat } from '../families.ts';
import type { Segment, Segmenter, WrittenCall } from './segments.ts';

/**
 * Extracts the calls of `format` from the content. An unreadable call stays text. Where calls may come without markers, an
 * answer that begins with a brace is held back until its end.
 */
export function createCallSegmenter(names: ReadonlySet<string>, format: CallFormat): Segmenter {
  let held = '';
  let isEmptySoFar = true;
  let isBehindCall = false;

  function push(text: string): Segment[] {
    held += text;
    const segments: Segment[] = [];
    while (format.start !== '') {
      const start = held.indexOf(format.start);
      if (start === -1) break;
      const found = readMarked(held.slice(start + format.start.length), names, format);
      if (found === 'more') return [...segments, ...release(start)];
      segments.push(...release(start));
      const length = format.start.length + found.length;
      if (found.calls.length === 0) {
        segments.push(...release(length));
        continue;
      }
      held = held.slice(length);
      segments.push(...found.calls.map(toSegment));
      isEmptySoFar = false;
      isBehindCall = true;
    }
    if (format.isBareToo && isEmptySoFar && /^\s*([{[]|$)/.test(held)) return segments;
    return [...segments, ...release(held.length - possibleStart(held, [format.start]))];
  }

  function release(length: number): Segment[] {
    const text = held.slice(0, length);
    held = held.slice(length);
    // White space between two calls is not content.
    const content = isBehindCall ? text.trimStart() : text;
    if (content === '') return [];
    isEmptySoFar = false;
    isBehindCall = false;
    return [{ kind: 'content', text: content }];
  }

  function end(): Segment[] {
    const calls = format.isBareToo && isEmptySoFar ? readBare(held, names) : [];
    if (calls.length === 0) return release(held.length);
    held = '';
    return calls.map(toSegment);
  }

  return { push, end };
}

const toSegment = (call: WrittenCall): Segment => ({ kind: 'call', call });

interface Marked {
  /** Empty if it is no valid call. */
  calls: WrittenCall[];
  /** Characters after the start marker that belong to it. */
  length: number;
}

function readMarked(body: string, names: ReadonlySet<string>, format: CallFormat): Marked | 'more' {
  let name: string | undefined;
  let from = body.search(/\S/);
  if (from === -1) return 'more';
  if (format.shape === 'named') {
    const infix = body.indexOf(format.infix);
    if (infix === -1) {
      const partly = body.slice(0, body.length - possibleStart(body, [format.infix]));
      return /^\s*[\w-]*$/.test(partly) ? 'more' : { calls: [], length: 0 };
    }
    name = body.slice(0, infix).trim();
    from = infix + format.infix.length;
    from += Math.max(0, body.slice(from).search(/\S|$/));
    if (from === body.length) return 'more';
  }
  if (!'{['.includes(body[from]!)) return { calls: [], length: 0 };
  const end = jsonEnd(body, from);
  if (end === undefined) return 'more';
  const json = body.slice(from, end);
  const given = name === undefined ? readCalls(json, names) : readNamed(name, json, names);
  const space = body.slice(end).search(/\S|$/);
  const behind = body.slice(end + space);
  if (behind.startsWith(format.end)) {
    return { calls: given, length: format.end === '' ? end : end + space + format.end.length };
  }
  return format.end.startsWith(behind) ? 'more' : { calls: [], length: end };
}

/** Calls without markers that make up the whole answer. */
function readBare(text: string, names: ReadonlySet<string>): WrittenCall[] {
  const calls: WrittenCall[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const end = '{['.includes(rest[0]!) ? jsonEnd(rest, 0) : undefined;
    const read = end === undefined ? [] : readCalls(rest.slice(0, end), names);
    if (read.length === 0) return [];
    calls.push(...read);
    rest = rest.slice(end).replace(/^[\s;,]+/, '');
  }
  return calls;
}

/** Calls in a JSON text; none if it is anything else. */
function readCalls(text: string, names: ReadonlySet<string>): WrittenCall[] {
  const value = parseOrUndefined(text);
  if (value === undefined) return [];
  const calls = [value].flat().map((each) => toCall(each, names));
  return calls.includes(undefined) ? [] : (calls as WrittenCall[]);
}

function readNamed(name: string, json: string, names: ReadonlySet<string>): WrittenCall[] {
  return names.has(name) && parseOrUndefined(json) !== undefined ? [{ name, arguments: json }] : [];
}

function toCall(value: unknown, names: ReadonlySet<string>): WrittenCall | undefined {
  const { name, parameters = {}, arguments: given = parameters } = fieldsOf(value);
  if (typeof name !== 'string' || !names.has(name)) return undefined;
  return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
}

/** End of the JSON object or array that begins at `from`; undefined if it is incomplete. */
function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0;
  for (const { 0: mark, index } of text.slice(from).matchAll(/"(?:\\[^]|[^"\\])*"?|[{}[\]]/g)) {
    if ('{['.includes(mark)) depth++;
    else if ('}]'.includes(mark) && --depth === 0) return from + index + 1;
  }
  return undefined;
}
