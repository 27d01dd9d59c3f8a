import type { ChatUsage, PromptUsage } from '../../chat/chat.ts';
import type { MessagesUsage } from '../messages.ts';

/** Usage with the cached tokens beside the others instead of among them. */
export function fromChatUsage({
  prompt_tokens: prompt,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: details,
}: ChatUsage): MessagesUsage {
  const read = Math.min(cached, prompt);
  return {
    input_tokens: prompt - read,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: read,
    output_tokens: completion,
    ...(details && { output_tokens_details: { thinking_tokens: details.reasoning_tokens } }),
  };
}

/** The same of a prompt whose answer has only begun. */
export function fromPromptUsage(prompt: PromptUsage): MessagesUsage {
  return fromChatUsage({ ...prompt, completion_tokens: 0, total_tokens: prompt.prompt_tokens });
}
