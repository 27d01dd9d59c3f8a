import type { ChatUsage, PromptUsage } from './chat.ts';

/** @param written tokens that the engine wrote to its cache and charges for */
export function promptUsage(prompt: number, cached: number, written = 0): PromptUsage {
  const details = { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) };
  return { prompt_tokens: prompt, prompt_tokens_details: details };
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
