import { truncate } from '../../../base/truncate.ts';
import { createKeyScrubber } from '../../../base/key-shapes.ts';

const longest = 1000;
/** More is not looked at: nothing behind it would be shown. */
const longestRead = 20_000;
/** So much of a secret in one piece is told by chance by nobody. */
const piece = 8;

const withoutKeys = createKeyScrubber();

/**
 * An upstream's own words made fit for others: no credentials, no accounts, no addresses, no paths of its files, no
 * control characters, not endless.
 * @param secrets strings of which no long part may appear, such as the upstream's key and host
 */
export function scrub(text: string, secrets: readonly string[] = []): string {
  // First, as long as every character stands where it stood.
  const bare = secrets.reduce(withoutParts, truncate(text, longestRead).toWellFormed());
  const clean = withoutKeys(bare)
    .replace(/\bTraceback \(most recent call last\)[^]*/, '[traceback]')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/(?:\[removed\]|[^\s"'<>)\]}])+/gi, '[address]')
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]')
    .replaceAll(filePath, '[path]')
    .replaceAll(/(?<= organization `?)org[-_]\w+/g, '[removed]');
  return truncate(clean, longest, '...');
}

/** Where programs and models stand. A pointer into a schema looks alike, and is the client's own. */
const filePath =
  /(?<![\w.])(?:\/(?:usr|opt|home|root|var|etc|tmp|srv|mnt|proc|workspace|Users)\/|[A-Za-z]:\\)[^\s"'<>)\]},:;]*/g;

/** `text` without the secret, and without any part of it that is long enough to be no chance. */
function withoutParts(text: string, secret: string): string {
  if (secret === '') return text;
  const size = Math.min(piece, secret.length);
  const hidden = lower(secret);
  const parts = new Set<string>();
  for (let at = 0; at + size <= hidden.length; at++) parts.add(hidden.slice(at, at + size));
  const plain = lower(text);
  let result = '';
  /** The end of the last part that was found. */
  let end = 0;
  for (let at = 0; at + size <= plain.length; at++) {
    if (!parts.has(plain.slice(at, at + size))) continue;
    if (at > end || result === '') result += `${text.slice(end, at)}[removed]`;
    end = at + size;
  }
  return result + text.slice(end);
}

/** Character by character: other letters may become longer. */
function lower(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
