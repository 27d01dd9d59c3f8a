import { stripVTControlCharacters } from 'node:util';
import { truncate } from '../../base/truncate.ts';

/**
 * Text from a server or a file, safe to show in a terminal: no escape sequences, no control characters, no marks that
 * reverse the reading direction. A newline becomes a space.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/[\n\t]+/g, ' ');
}

/** The same with newlines and tabs left in. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text).replace(hidden, '');
}

/** Everything of Unicode's classes "control" and "format" but newline, tab and the joiners that emoji need. */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

export function shorten(text: string, width: number): string {
  return text.length <= width ? text : truncate(text, width - 1, '…');
}
