import { splitTextInputs } from '../shared/text-inputs.ts';
import type { CompletionPiece, CompletionsRequest } from './completions.ts';

/**
 * Returns a function that removes the echoed prompt from the pieces of an answer, in order: echoed text is not billed as
 * output. The text of token ids is unknown, so their echo counts as output.
 */
export function echoStripper({
  prompt,
  echo,
  n,
}: CompletionsRequest): (piece: Pick<CompletionPiece, 'index' | 'text'>) => string {
  if (!echo) return ({ text }) => text;
  const prompts = splitTextInputs('prompt', prompt).map(({ input }) => input);
  /** Rest of the echo by choice. */
  const rests = new Map<number, string>();
  return ({ index, text }) => {
    const input = prompts[Math.floor(index / (n ?? 1))];
    const rest = rests.get(index) ?? (typeof input === 'string' ? input : '');
    const isWithin = rest.startsWith(text);
    rests.set(index, isWithin ? rest.slice(text.length) : '');
    if (isWithin) return '';
    return text.startsWith(rest) ? text.slice(rest.length) : text;
  };
}
