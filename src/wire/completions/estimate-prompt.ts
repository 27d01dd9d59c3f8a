import { estimateText } from '../chat/request/estimate-prompt.ts';
import { splitTextInputs } from '../text-inputs.ts';
import type { CompletionsRequest } from './completions.ts';

/** Tokens of all prompts: those of texts about, token ids exactly. */
export function estimateTextPrompt({ prompt }: Pick<CompletionsRequest, 'prompt'>): number {
  return splitTextInputs('prompt', prompt).reduce(
    (sum, { input }) => sum + (typeof input === 'string' ? estimateText(input) : input.length),
    0,
  );
}
