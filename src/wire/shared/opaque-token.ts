import { fromBase64, toBase64 } from '../../base/base64.ts';

/**
 * Marks a text of ours that clients send back unread. The token is neither encrypted nor signed: it is client input like any
 * other message, so no key has to be stored and every process can read it.
 */
export const tokenPrefix = 'offpeak1.';

export function encodeToken(text: string): string {
  return tokenPrefix + toBase64(text);
}

/** Returns the text of a token of ours; undefined for any other value. */
export function decodeToken(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith(tokenPrefix)) return undefined;
  try {
    return fromBase64(value.slice(tokenPrefix.length));
  } catch {
    return undefined;
  }
}
