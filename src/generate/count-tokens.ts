import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';

/** What an image counts as where nobody can tell. */
const imageTokens = 1_000;
const bytesPerToken = 4;

/** Tokens of the prompt: the engine's own count, or an estimate from its bytes where the engine cannot tell. */
export async function countPrompt(engine: Engine, request: ChatRequest): Promise<number> {
  return (await engine.countTokens(request)) ?? estimatePrompt(request);
}

/** A token for four bytes of UTF-8, as in English text. Pictures count by the piece. */
export function estimatePrompt({ messages, tools }: ChatRequest): number {
  let images = 0;
  const text = JSON.stringify([messages, tools ?? []], (key, value: unknown) => {
    if (key !== 'url' || typeof value !== 'string' || !value.startsWith('data:')) return value;
    images += 1;
    return '';
  });
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken) + images * imageTokens;
}
