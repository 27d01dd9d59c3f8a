import { createKeyScrubber } from '../../../base/key-shapes.ts';
import { truncate } from '../../../base/truncate.ts';

const maxLength = 1000;
/** Text beyond this is dropped first; none of it would be shown. */
const maxRead = 20_000;
/** Length of a match that cannot be a coincidence. */
const minMatch = 8;

const withoutKeys = createKeyScrubber();

/**
 * Removes credentials, accounts, addresses, file paths and control characters from an upstream's message, and truncates it.
 * @param secrets strings of which no long part may appear, such as the upstream's key and host
 */
export function scrub(text: string, secrets: readonly string[] = []): string {
  // Secrets go first, before other replacements can split them.
  const bare = secrets.reduce(withoutParts, truncate(text, maxRead).toWellFormed());
  const clean = withoutKeys(bare)
    .replace(/\bTraceback \(most recent call last\)[^]*/, '[traceback]')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/(?:\[removed\]|[^\s"'<>)\]}])+/gi, '[address]')
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]')
    .replaceAll(filePath, '[path]')
    .replaceAll(/(?<= organization `?)org[-_]\w+/g, '[removed]');
  return truncate(clean, maxLength, '...');
}

/** Paths under common roots only, because pointers into the client's schemas look alike. */
const filePath =
  /(?<![\w.])(?:\/(?:usr|opt|home|root|var|etc|tmp|srv|mnt|proc|workspace|Users)\/|[A-Za-z]:\\)[^\s"'<>)\]},:;]*/g;

/** Removes a secret and its long parts from `text`. */
function withoutParts(text: string, secret: string): string {
  if (secret === '') return text;
  const size = Math.min(minMatch, secret.length);
  const hidden = lowerAscii(secret);
  const parts = new Set<string>();
  for (let at = 0; at + size <= hidden.length; at++) parts.add(hidden.slice(at, at + size));
  const plain = lowerAscii(text);
  let result = '';
  let end = 0;
  for (let at = 0; at + size <= plain.length; at++) {
    if (!parts.has(plain.slice(at, at + size))) continue;
    if (at > end || result === '') result += `${text.slice(end, at)}[removed]`;
    end = at + size;
  }
  return result + text.slice(end);
}

/** Lowercases ASCII alone: other letters may change their length. */
function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
