import type { ChatChoice, ChatChunk, PromptUsage } from '../../../../wire/chat/chat.ts';
import { gather } from '../../../../wire/chat/stream/fold-chunks.ts';
import type { Deltas } from '../../protocol.ts';

type Piece = ChatChunk['choices'][number];

/** Tells one choice of a chat: in pieces, the role before the first, or where nobody waits for them, into `choices`. */
export function createChoiceTeller(
  index: number,
  choices: ChatChoice[],
  onDelta: ((delta: Deltas['generate']) => void) | undefined,
) {
  const blank: Piece = { index, delta: {}, logprobs: null, finish_reason: null };
  let hasBegun = false;
  let prompt: PromptUsage | undefined;
  return {
    /** What is known of the prompt, for the first piece. */
    onPrompt: (usage: PromptUsage) => void (prompt = usage),
    tell(given: Partial<Piece>): void {
      const piece: Piece = { ...blank, ...given };
      if (!onDelta) return void gather(choices, piece);
      if (!hasBegun) {
        const begun: Piece = { ...blank, delta: { role: 'assistant', content: '' } };
        onDelta({ choices: [begun], ...(prompt && { prompt }) });
        hasBegun = true;
      }
      onDelta({ choices: [piece] });
    },
  };
}
