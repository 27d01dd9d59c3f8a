import { invalid } from '../core/errors.ts';

const maxLength = 255;
/** What a file without a usable name is called. */
const fallback = 'upload.jsonl';

/** Control characters, and those that turn the direction of writing round or cannot be seen. */
const invisible = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/gu;

/** Forms escape three characters of a filename and nothing else (WHATWG HTML, multipart/form-data encoding). */
function unescaped(sent: string): string {
  return sent.replaceAll('%22', '"').replaceAll(/%0[AD]/gi, ' ');
}

/**
 * The last part of a client's path, without what could deceive a reader or break a header. It only labels the file and never names
 * anything on disk.
 * @throws ApiError `validation_error` for a name with a NUL, which no honest client sends
 */
export function cleanFilename(sent: string | undefined): string {
  if (sent?.includes('\0')) throw invalid('file', 'the filename holds a NUL character');
  const last =
    unescaped(sent ?? '')
      .split(/[/\\]/)
      .at(-1) ?? '';
  const clean = last.replaceAll(invisible, '').trim();
  if (clean === '' || clean === '.' || clean === '..') return fallback;
  return Array.from(clean).slice(0, maxLength).join('');
}
