import type { Block } from './messages.ts';

/**
 * The signature of a thinking block. Clients hand it back unread; to us it is a mark, or, where the client did not want
 * to see the thinking, the thinking itself. Nothing is proven by it: what a client says the model thought is its own say.
 */
const mark = 'offpeak1.';

export function signatureFor(thinking: string, isHidden: boolean): string {
  return isHidden ? mark + encode(thinking) : mark;
}

/** Whether a request hands thinking back that we marked: to others it would be a forgery. */
export function hasOurMark(text: string): boolean {
  return text.includes(`"${mark}`);
}

/** The text of a replayed thinking block, whoever signed it; empty when it cannot be told. */
export function thoughtOf({ thinking, signature }: Block): string {
  if (thinking !== undefined && thinking !== '') return thinking;
  return signature?.startsWith(mark) ? decode(signature.slice(mark.length)) : '';
}

function encode(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function decode(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
  } catch {
    return '';
  }
}
