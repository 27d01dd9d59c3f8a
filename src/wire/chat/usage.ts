import type { ChatUsage, PromptUsage } from './chat.ts';

export function promptUsage(prompt: number, cached: number): PromptUsage {
  return { prompt_tokens: prompt, prompt_tokens_details: { cached_tokens: cached } };
}

/** @param reasoning reasoning tokens among the completion; undefined if the engine does not report them */
export function chatUsage(prompt: PromptUsage, completion: number, reasoning?: number): ChatUsage {
  const { prompt_tokens, prompt_tokens_details } = prompt;
  return {
    prompt_tokens,
    completion_tokens: completion,
    total_tokens: prompt_tokens + completion,
    prompt_tokens_details,
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
