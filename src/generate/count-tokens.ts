import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { estimatePrompt } from '../wire/chat/estimate-prompt.ts';

/** Tokens of the prompt: the engine's own count, or an estimate where the engine cannot tell. */
export async function countPrompt(engine: Engine, request: ChatRequest): Promise<number> {
  return (await engine.countTokens(request)) ?? estimatePrompt(request);
}
