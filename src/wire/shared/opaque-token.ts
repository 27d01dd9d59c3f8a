import { fromBase64, toBase64 } from '../../base/base64.ts';

/**
 * Stands before a text of ours that clients hand back unread. It is no secret, and nothing is proven by it: what a client
 * says was said before is its own say, as with any message of its input. So no key has to be kept, and any process reads it.
 */
export const tokenPrefix = 'offpeak1.';

export function encodeToken(text: string): string {
  return tokenPrefix + toBase64(text);
}

/** The text behind a mark of ours; undefined for all else. */
export function decodeToken(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith(tokenPrefix)) return undefined;
  try {
    return fromBase64(value.slice(tokenPrefix.length));
  } catch {
    return undefined;
  }
}
