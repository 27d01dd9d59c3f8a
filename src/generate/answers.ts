import type { ChatResponse, ChatUsage } from '../wire/chat/chat.ts';
import type { Usage } from '../core/usage.ts';

/** A chat completion under our own id and the model's public name (specification, section 2.5). */
export function named(response: ChatResponse, id: string, model: string): ChatResponse {
  return { ...response, id, object: 'chat.completion', model };
}

/** What is paid for an answer. */
export function usageOf(usage: ChatUsage): Usage {
  const { prompt_tokens, prompt_tokens_details, completion_tokens } = usage.billed ?? usage;
  return {
    inputTokens: prompt_tokens,
    cachedTokens: prompt_tokens_details.cached_tokens,
    outputTokens: completion_tokens,
  };
}
