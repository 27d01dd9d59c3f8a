import type { ChatRequest } from '../wire/chat/chat.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import { splitTextInputs } from '../wire/shared/text-inputs.ts';

/** So much of the first message tells conversations apart. */
const prefixChars = 256;

/** Conversations that begin with the same instructions share a prompt prefix; so do the turns of one without any. */
export function promptPrefix({ messages: [first], tools }: ChatRequest): string {
  const said = typeof first?.content === 'string' ? first.content : '';
  return said === '' ? '' : `${tools?.length ?? 0} ${said.slice(0, prefixChars)}`;
}

/** Token ids are a few characters each, and so are the texts that they stand for. */
export function textPromptPrefix({ prompt }: CompletionsRequest): string {
  const [first] = splitTextInputs('prompt', prompt);
  const text =
    typeof first?.input === 'string' ? first.input : (first?.input.slice(0, prefixChars / 4).join() ?? '');
  return text.slice(0, prefixChars);
}
