import type { ChatChoice, ChatChunk, PromptUsage } from '../../../../wire/chat/chat.ts';
import { addToChoice } from '../../../../wire/chat/stream/fold-chunks.ts';
import type { Deltas } from '../../protocol.ts';

type ChoiceChunk = ChatChunk['choices'][number];

/** Writes one choice of a chat: as chunks to `onDelta`, the role first, or without it into `choices`. */
export function createChoiceWriter(
  index: number,
  choices: ChatChoice[],
  onDelta: ((delta: Deltas['generate']) => void) | undefined,
) {
  const blank: ChoiceChunk = { index, delta: {}, logprobs: null, finish_reason: null };
  let hasBegun = false;
  let prompt: PromptUsage | undefined;
  return {
    /** Usage of the prompt, for the first chunk. */
    onPrompt: (usage: PromptUsage) => void (prompt = usage),
    write(given: Partial<ChoiceChunk>): void {
      const chunk: ChoiceChunk = { ...blank, ...given };
      if (!onDelta) return void addToChoice(choices, chunk);
      if (!hasBegun) {
        const first: ChoiceChunk = { ...blank, delta: { role: 'assistant', content: '' } };
        onDelta({ choices: [first], ...(prompt && { prompt }) });
        hasBegun = true;
      }
      onDelta({ choices: [chunk] });
    },
  };
}
