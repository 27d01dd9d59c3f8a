import { fieldsOf, parseOrUndefined } from '../../base/fields.ts';
import { findMember, scanJson } from '../json/scan.ts';

const decoder = new TextDecoder();
const unlimited = { maxDepth: Infinity, maxNodes: Infinity };

/** Matches a custom_id that is the first member, as in almost every file. */
const leadingId = /^\s*\{\s*"custom_id"\s*:\s*("(?:[^"\\]|\\.)*")/;

/** Stored line, as text and parsed. */
export interface StoredLine {
  text: string;
  value: Record<string, unknown>;
}

export function parseStored(bytes: Uint8Array): StoredLine {
  const text = decoder.decode(bytes);
  return { text, value: fieldsOf(parseOrUndefined(text)) };
}

/** `custom_id` of a line of an input or result file; null if it has none. */
export function customIdOf(bytes: Uint8Array): string | null {
  const leading = leadingId.exec(decoder.decode(bytes.subarray(0, 4_096)))?.[1];
  const id = leading === undefined ? parseStored(bytes).value['custom_id'] : parseOrUndefined(leading);
  return typeof id === 'string' ? id : null;
}

/** JSON text of the request in an input line, with every digit; null if it is damaged. */
export function requestBodyText({ text }: StoredLine): string | null {
  return memberText(text, 'body');
}

/** JSON text of the response body of a result line; null for a line without a response. */
export function answerBodyText({ text }: StoredLine): string | null {
  const response = memberText(text, 'response');
  return response === null ? null : memberText(response, 'body');
}

function memberText(text: string, name: string): string | null {
  const span = findMember(scanJson(text, unlimited), name);
  const found = span && text.slice(span.start, span.end);
  return found === undefined || found === 'null' ? null : found;
}
