import { invalid } from '../../core/errors.ts';

const maxLength = 255;
const fallback = 'upload.jsonl';

/** Control characters, invisible characters, and marks that change the reading direction. */
const invisible = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/gu;

/**
 * Last segment of a client's path, without characters that could deceive a reader or break a header. It is a label only
 * and never becomes a name on disk.
 * @throws ApiError `validation_error` for a name with a NUL character
 */
export function cleanFilename(sent: string | undefined): string {
  if (sent?.includes('\0')) throw invalid('file', 'the filename contains a NUL character');
  // The form encoding escapes three characters (WHATWG HTML, multipart/form-data encoding).
  const name = (sent ?? '').replaceAll('%22', '"').replaceAll(/%0[AD]/gi, ' ');
  const clean = (name.split(/[/\\]/).at(-1) ?? '').replaceAll(invisible, '').trim();
  if (clean === '' || clean === '.' || clean === '..') return fallback;
  return Array.from(clean).slice(0, maxLength).join('');
}
