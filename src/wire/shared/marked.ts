import { fromBase64, toBase64 } from '../../base/base64.ts';

/**
 * Stands before a text of ours that clients hand back unread. It is no secret, and nothing is proven by it: what a client
 * says was said before is its own say, as with any message of its input. So no key has to be kept, and any process reads it.
 */
export const mark = 'offpeak1.';

export function marked(text: string): string {
  return mark + toBase64(text);
}

/** The text behind a mark of ours; undefined for all else. */
export function unmarked(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith(mark)) return undefined;
  try {
    return fromBase64(value.slice(mark.length));
  } catch {
    return undefined;
  }
}
