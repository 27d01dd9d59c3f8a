import { stripVTControlCharacters } from 'node:util';
import { truncate } from '../../base/truncate.ts';

/**
 * Makes text of a server or file safe for a terminal: removes escape sequences, control characters and marks that change
 * the reading direction, and replaces newlines by spaces.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/[\n\t]+/g, ' ');
}

/** Like `cleanLine`, but keeps newlines and tabs. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text).replace(hidden, '');
}

/** Unicode control and format characters, except newline, tab and the joiners of emoji. */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

export function shorten(text: string, width: number): string {
  return text.length <= width ? text : truncate(text, width - 1, '…');
}
