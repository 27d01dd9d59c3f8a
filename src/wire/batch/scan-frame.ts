import { keyText } from '../json/key-stack.ts';
import { characters, type JsonMember, type JsonSpan } from '../json/scan.ts';
import { decodeUtf8 } from '../shared/utf8.ts';

/** Positions, in bytes, of the members and requests in the body of a create. */
export interface FrameScan {
  /** True if every bracket and string is closed by its own kind. */
  closed: boolean;
  tooDeep: boolean;
  tooMany: boolean;
  members: JsonMember[];
  /** Elements of the member `requests`, up to the maximum. */
  requests: JsonSpan[];
  /** Number of all elements. */
  requestCount: number;
}

/** 64 levels of a request, in an array in an object. */
const maxLevels = 66;
const maxMembers = 1_000;

const { quote, comma, colon, openBracket, backslash, closeBracket, openBrace, closeBrace } = characters;

/**
 * Finds the requests in the bytes of a body, in steps and without decoding forty megabytes to one string. Like `scanJson` it
 * does not validate; the requests are parsed later one by one.
 * @param maxRequests number of requests to locate
 * @param pauseEvery bytes between two pauses
 */
export function* scanFrame(
  bytes: Uint8Array,
  maxRequests: number,
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
  /** True for each depth that is an object. */
  const objects: boolean[] = [false];
  let depth = 0;
  let stringStart = -1;
  let expectKey = false;
  /** End of the last token: also the end of a value before a comma or bracket. */
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
    if (found.requests.length < maxRequests)
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
      found.tooMany = found.members.length > maxMembers;
      if (found.tooMany) return found;
    } else if (code === openBrace || code === openBracket) {
      found.tooDeep = depth === maxLevels;
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
