import { splitTextInputs } from '../shared/text-inputs.ts';
import type { CompletionPiece, CompletionsRequest } from './completions.ts';

/**
 * What each piece of an answer, in order, adds behind a prompt that is told again: that was not made, and is not paid as
 * output. Of token ids nobody knows the text; what is told of them counts.
 */
export function echoStripper({
  prompt,
  echo,
  n,
}: CompletionsRequest): (piece: Pick<CompletionPiece, 'index' | 'text'>) => string {
  if (!echo) return ({ text }) => text;
  const prompts = splitTextInputs('prompt', prompt).map(({ input }) => input);
  /** What is still to come of the prompt of each choice. */
  const missing = new Map<number, string>();
  return ({ index, text }) => {
    const asked = prompts[Math.floor(index / (n ?? 1))];
    const rest = missing.get(index) ?? (typeof asked === 'string' ? asked : '');
    const isWithin = rest.startsWith(text);
    missing.set(index, isWithin ? rest.slice(text.length) : '');
    if (isWithin) return '';
    return text.startsWith(rest) ? text.slice(rest.length) : text;
  };
}
