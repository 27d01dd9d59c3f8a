import { keyText } from '../json/key-stack.ts';
import type { JsonMember, JsonSpan } from '../json/scan.ts';
import { decodeUtf8 } from '../shared/utf8.ts';

/** What stands where in the body of a create; positions are bytes. */
export interface FrameScan {
  /** Every bracket and string is closed, by its own kind. */
  closed: boolean;
  /** More brackets are open at once than may be. */
  tooDeep: boolean;
  /** The top-level object has more members than are looked at. */
  tooMany: boolean;
  members: JsonMember[];
  /** Elements of the member `requests`, as many as are asked for. */
  requests: JsonSpan[];
  /** How many it really has. */
  requestCount: number;
}

/** The array and its object around requests that may have 64 levels each. */
const mostLevels = 66;
const mostMembers = 1_000;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Finds the requests in the bytes of a body that may be forty million, in steps, without a string of all. Like `scanJson`
 * it does not validate, and knows less: what is inside a request is looked at later, request by request.
 * @param most requests whose places are wanted
 * @param pauseEvery bytes, after which it pauses
 */
export function* scanFrame(
  bytes: Uint8Array,
  most: number,
  pauseEvery: number,
): Generator<undefined, FrameScan> {
  const found: FrameScan = {
    closed: false,
    tooDeep: false,
    tooMany: false,
    members: [],
    requests: [],
    requestCount: 0,
  };
  const { length } = bytes;
  /** By depth: true in an object. */
  const objects: boolean[] = [false];
  let depth = 0;
  let stringStart = -1;
  let expectKey = false;
  /** End of the last token, where a value that a comma or bracket follows has ended. */
  let tokenEnd = 0;
  let name = '';
  let memberStart = -1;
  let requestStart = -1;
  let pauseAt = pauseEvery;
  let at = 0;

  const endMember = (): void => {
    if (memberStart >= 0) found.members.push({ name, start: memberStart, end: tokenEnd });
    memberStart = -1;
  };
  const endRequest = (): void => {
    found.requestCount += 1;
    if (found.requests.length < most)
      found.requests.push({ start: requestStart, end: Math.max(requestStart, tokenEnd) });
  };

  while (at < length) {
    if (at >= pauseAt) {
      pauseAt = at + pauseEvery;
      yield;
    }
    if (stringStart >= 0) {
      const end = bytes.indexOf(quote, at);
      if (end < 0) return found;
      tokenEnd = at = end + 1;
      if (isEscaped(bytes, end)) continue;
      if (expectKey && depth === 1) name = nameOf(bytes.subarray(stringStart, end));
      expectKey = false;
      stringStart = -1;
      continue;
    }
    const code = bytes[at]!;
    at += 1;
    if (code === quote) stringStart = at;
    else if (code === colon) {
      if (depth === 1) memberStart = at = skipSpace(bytes, at);
    } else if (code === comma) {
      expectKey = objects[depth]!;
      if (depth === 1 && expectKey) endMember();
      else if (depth === 2 && requestStart >= 0) {
        endRequest();
        requestStart = skipSpace(bytes, at);
      }
      found.tooMany = found.members.length > mostMembers;
      if (found.tooMany) return found;
    } else if (code === openBrace || code === openBracket) {
      found.tooDeep = depth === mostLevels;
      if (found.tooDeep) return found;
      depth += 1;
      expectKey = code === openBrace;
      objects[depth] = expectKey;
      if (depth === 2 && !expectKey && objects[1]! && name === 'requests')
        requestStart = skipSpace(bytes, at);
    } else if (code === closeBrace || code === closeBracket) {
      if (depth === 0 || objects[depth] !== (code === closeBrace)) return found;
      if (depth === 1) endMember();
      else if (depth === 2 && requestStart >= 0) {
        if (at - 1 > requestStart || found.requestCount > 0) endRequest();
        requestStart = -1;
      }
      depth -= 1;
      expectKey = false;
      tokenEnd = at;
    } else if (!isSpace(code)) tokenEnd = at;
  }
  found.closed = depth === 0 && stringStart < 0;
  return found;
}

function isEscaped(bytes: Uint8Array, end: number): boolean {
  let before = end - 1;
  while (bytes[before] === backslash) before -= 1;
  return (end - before) % 2 === 0;
}

function nameOf(raw: Uint8Array): string {
  const text = decodeUtf8(raw);
  return typeof text === 'string' ? keyText(text, 0, text.length) : '';
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
