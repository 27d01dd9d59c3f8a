import type { ChatRequest } from '../wire/chat/chat.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import { splitTextInputs } from '../wire/shared/text-inputs.ts';

/** Characters of the first message that distinguish conversations. */
const prefixChars = 256;

/** Key of a shared prompt prefix: the same for conversations with the same instructions, and for the turns of one without any. */
export function promptPrefix({ messages: [first], tools }: ChatRequest): string {
  const text = typeof first?.content === 'string' ? first.content : '';
  return text === '' ? '' : `${tools?.length ?? 0} ${text.slice(0, prefixChars)}`;
}

/** Key of a raw prompt. A token id takes about as many characters as its text. */
export function textPromptPrefix({ prompt }: CompletionsRequest): string {
  const [first] = splitTextInputs('prompt', prompt);
  const text =
    typeof first?.input === 'string' ? first.input : (first?.input.slice(0, prefixChars / 4).join() ?? '');
  return text.slice(0, prefixChars);
}
