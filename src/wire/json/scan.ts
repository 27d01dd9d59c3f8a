import { KeyStack, keyText } from './key-stack.ts';

/**
 * Result of one quick pass over JSON text for what `JSON.parse` hides: depth and size, before any memory is spent on them;
 * duplicate keys, of which the parser keeps the last and an upstream may keep the first; and the positions of the top-level
 * values, so that they can be forwarded and replaced without changing a digit.
 *
 * The scan does not validate: on invalid JSON it ends early with `closed: false` or with spans that do not parse. Parse the
 * text, or the span, before trusting a span.
 */
export interface JsonScan {
  /** True if every bracket and string is closed by its own kind. */
  closed: boolean;
  /** Number of values: strings, numbers, literals, objects and arrays. */
  nodes: number;
  /** First exceeded limit. */
  limit: { code: 'too_deep' | 'too_many_nodes'; at: number } | undefined;
  duplicate: { key: string; at: number } | undefined;
  /** Position after the opening brace of a top-level object, or -1. */
  inside: number;
  /** Values of the top-level object's members, in order. Keys are unescaped. */
  members: JsonMember[];
  /** Elements of a top-level array, in order. */
  elements: JsonSpan[];
}

/** UTF-16 positions `[start, end)` in the scanned text. */
export interface JsonSpan {
  start: number;
  end: number;
}

export interface JsonMember extends JsonSpan {
  name: string;
}

export interface ScanOptions {
  /** Default 64. */
  maxDepth?: number;
  /** Default 200,000. */
  maxNodes?: number;
  /** Top-level members after the last of which the scan ends. */
  until?: ReadonlyMap<string, unknown>;
}

export const characters = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;
const { quote, comma, colon, openBracket, backslash, closeBracket, openBrace, closeBrace } = characters;

export function scanJson(text: string, options: ScanOptions = {}): JsonScan {
  const { maxDepth = 64, maxNodes = 200_000, until } = options;
  const scan: JsonScan = {
    closed: false,
    nodes: 0,
    limit: undefined,
    duplicate: undefined,
    inside: -1,
    members: [],
    elements: [],
  };
  const length = text.length;
  /** True for each depth that is an object. */
  const objects: boolean[] = [false];
  const keys = new KeyStack(text);
  let depth = 0;
  let nodes = 0;
  let expectKey = false;
  /** End of the last token: also the end of a value before a comma or bracket. */
  let tokenEnd = 0;
  let memberName = '';
  let memberStart = -1;
  let elementStart = -1;
  /** Position of the next backslash, or the end of the text. */
  let nextSlash = -1;
  let at = 0;
  let missing = until?.size ?? -1;

  while (at < length && missing !== 0) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      let end = text.indexOf('"', at + 1);
      if (nextSlash < at) nextSlash = text.indexOf('\\', at);
      if (nextSlash < 0) nextSlash = length;
      const isEscaped = nextSlash < end;
      if (isEscaped) end = closingQuote(text, end);
      if (end < 0) break;
      if (expectKey) {
        expectKey = false;
        if (!keys.add(at + 1, end, isEscaped)) scan.duplicate ??= { key: keyText(text, at + 1, end), at };
        if (keys.tooMany) {
          scan.limit = { code: 'too_many_nodes', at };
          break;
        }
        if (depth === 1) memberName = isEscaped ? keyText(text, at + 1, end) : text.slice(at + 1, end);
      } else nodes += 1;
      tokenEnd = at = end + 1;
    } else if (code === colon) {
      at += 1;
      if (depth === 1) memberStart = at = skipSpace(text, at);
    } else if (code === comma) {
      at += 1;
      if (objects[depth]!) {
        expectKey = true;
        if (depth === 1 && memberStart >= 0) {
          scan.members.push({ name: memberName, start: memberStart, end: tokenEnd });
          memberStart = -1;
          missing -= !scan.duplicate && until?.has(memberName) ? 1 : 0;
        }
      } else if (depth === 1) {
        scan.elements.push({ start: elementStart, end: Math.max(elementStart, tokenEnd) });
        elementStart = skipSpace(text, at);
      }
    } else if (code === openBrace || code === openBracket) {
      nodes += 1;
      if (depth === maxDepth || nodes > maxNodes) {
        scan.limit = { code: depth === maxDepth ? 'too_deep' : 'too_many_nodes', at };
        break;
      }
      depth += 1;
      at += 1;
      expectKey = code === openBrace;
      objects[depth] = expectKey;
      keys.open(depth);
      if (depth === 1 && expectKey) scan.inside = at;
      else if (depth === 1) elementStart = skipSpace(text, at);
    } else if (code === closeBrace || code === closeBracket) {
      if (depth === 0 || objects[depth] !== (code === closeBrace)) break;
      if (depth === 1 && memberStart >= 0) {
        scan.members.push({ name: memberName, start: memberStart, end: tokenEnd });
        memberStart = -1;
      } else if (depth === 1 && !objects[1]! && (at > elementStart || scan.elements.length > 0))
        scan.elements.push({ start: elementStart, end: Math.max(elementStart, tokenEnd) });
      depth -= 1;
      at += 1;
      keys.close(depth);
      expectKey = false;
      tokenEnd = at;
    } else if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at += 1;
    } else {
      nodes += 1;
      at = scalarEnd(text, at + 1);
      tokenEnd = at;
    }
  }
  if (scan.limit === undefined && nodes > maxNodes) scan.limit = { code: 'too_many_nodes', at };
  scan.nodes = nodes;
  scan.closed = at >= length && depth === 0;
  return scan;
}

/** Span of a top-level member's value, or undefined. */
export function findMember({ members }: Pick<JsonScan, 'members'>, name: string): JsonMember | undefined {
  return members.find((member) => member.name === name);
}

/** First unescaped quote at or after `candidate`, or -1. */
function closingQuote(text: string, candidate: number): number {
  let end = candidate;
  while (end >= 0) {
    let slashes = end - 1;
    while (text.charCodeAt(slashes) === backslash) slashes -= 1;
    if ((end - slashes) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  return -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** End of a number or literal: the next delimiter. */
function scalarEnd(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace || code === closeBracket || code <= 0x20 || code === colon)
      break;
    if (code === quote || code === openBrace || code === openBracket) break;
  }
  return at;
}
