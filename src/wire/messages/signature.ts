import { tokenPrefix, encodeToken, decodeToken } from '../shared/opaque-token.ts';
import type { Block } from './messages.ts';

/** The signature of a thinking block: a mark, or, where the client did not want to see the thinking, the thinking itself. */
export function signatureFor(thinking: string, isHidden: boolean): string {
  return encodeToken(isHidden ? thinking : '');
}

/** Whether a request hands thinking back that we marked: to others it would be a forgery. */
export function hasOwnSignature(text: string): boolean {
  return text.includes(`"${tokenPrefix}`);
}

/** The text of a replayed thinking block, whoever signed it; empty when it cannot be told. */
export function thinkingText({ thinking, signature }: Block): string {
  return thinking || (decodeToken(signature) ?? '');
}
