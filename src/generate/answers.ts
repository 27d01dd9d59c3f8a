import type { ChatResponse, ChatUsage } from '../wire/chat/chat.ts';
import type { Usage } from '../core/usage.ts';

/** A chat completion under our own id and the model's public name (specification, section 2.5). */
export function named(response: ChatResponse, id: string, model: string): ChatResponse {
  return { ...response, id, object: 'chat.completion', model };
}

export function usageOf(usage: ChatUsage): Usage {
  return {
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    outputTokens: usage.completion_tokens,
  };
}
