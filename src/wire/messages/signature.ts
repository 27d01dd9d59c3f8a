import { tokenPrefix, encodeToken, decodeToken } from '../shared/opaque-token.ts';
import type { Block } from './messages.ts';

/** Signature of a thinking block. It contains the thinking if that is hidden from the client. */
export function signatureFor(thinking: string, isHidden: boolean): string {
  return encodeToken(isHidden ? thinking : '');
}

/** True if a request returns thinking with a signature of ours, which other servers would reject as forged. */
export function hasOwnSignature(text: string): boolean {
  return text.includes(`"${tokenPrefix}`);
}

/** Text of a thinking block in a request; empty if only another server can read it. */
export function thinkingText({ thinking, signature }: Block): string {
  return thinking || (decodeToken(signature) ?? '');
}
