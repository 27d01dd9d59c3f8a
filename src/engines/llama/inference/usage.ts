import type { ChatUsage, PromptUsage } from '../../../wire/chat/chat.ts';

/** Tokens of a prompt, and how many of them were read for a request before. */
export function promptUsage(prompt: number, cached: number): PromptUsage {
  return { prompt_tokens: prompt, prompt_tokens_details: { cached_tokens: cached } };
}

/** @param reasoning those of the completion that were thoughts */
export function chatUsage(prompt: PromptUsage, completion: number, reasoning: number): ChatUsage {
  return {
    ...prompt,
    completion_tokens: completion,
    total_tokens: prompt.prompt_tokens + completion,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
