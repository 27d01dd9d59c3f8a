import { mark, marked, unmarked } from '../shared/marked.ts';
import type { Block } from './messages.ts';

/** The signature of a thinking block: a mark, or, where the client did not want to see the thinking, the thinking itself. */
export function signatureFor(thinking: string, isHidden: boolean): string {
  return marked(isHidden ? thinking : '');
}

/** Whether a request hands thinking back that we marked: to others it would be a forgery. */
export function hasOurMark(text: string): boolean {
  return text.includes(`"${mark}`);
}

/** The text of a replayed thinking block, whoever signed it; empty when it cannot be told. */
export function thoughtOf({ thinking, signature }: Block): string {
  return thinking || (unmarked(signature) ?? '');
}
