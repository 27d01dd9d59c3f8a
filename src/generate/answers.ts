import type { ChatChunk, ChatDelta, ChatResponse, ChatUsage } from '../wire/chat/chat.ts';
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

/** A finished answer as the chunks of a stream, for answers that had to be checked before anyone saw them. */
export function* chunksOf(response: ChatResponse): Generator<ChatChunk> {
  const base = {
    id: response.id,
    object: 'chat.completion.chunk',
    created: response.created,
    model: response.model,
  } as const;
  for (const { index, message, logprobs, finish_reason, stop_reason } of response.choices) {
    const delta: ChatDelta = { role: 'assistant', content: message.content ?? '' };
    if (message.reasoning !== undefined) delta.reasoning = message.reasoning;
    if (message.reasoning_content !== undefined) delta.reasoning_content = message.reasoning_content;
    if (message.tool_calls) delta.tool_calls = message.tool_calls.map((call, at) => ({ ...call, index: at }));
    yield { ...base, choices: [{ index, delta, logprobs, finish_reason: null }] };
    const ending = { finish_reason, ...(stop_reason !== undefined && { stop_reason }) };
    yield { ...base, choices: [{ index, delta: {}, ...ending }] };
  }
  yield { ...base, choices: [], usage: response.usage };
}
