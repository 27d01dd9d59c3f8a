import { omitNullish } from '../../../base/fields.ts';
import type { AssistantMessage, ChatChunk, ChatDelta, ChatResponse } from '../chat.ts';

/** Converts a finished answer to stream chunks: one that had to be checked first, or of a server that does not stream. */
export function* toChunks(response: ChatResponse): Generator<ChatChunk> {
  const { id, created, model, choices, usage } = response;
  // Messages clients expect the prompt's usage in the first event.
  const base = { id, object: 'chat.completion.chunk', created, model, prompt: usage } as const;
  for (const { index, message, logprobs, finish_reason, stop_reason } of choices) {
    for (const delta of deltasOf(message)) {
      const isContent = delta.content !== undefined && delta.role === undefined;
      yield { ...base, choices: [{ index, delta, ...(isContent && { logprobs }), finish_reason: null }] };
    }
    const ending = { finish_reason, ...(stop_reason !== undefined && { stop_reason }) };
    yield { ...base, choices: [{ index, delta: {}, ...ending }] };
  }
  yield { ...base, choices: [], usage };
}

function* deltasOf(message: AssistantMessage): Generator<ChatDelta> {
  const { content, refusal, tool_calls: calls = [] } = message;
  const { reasoning, reasoning_content, reasoning_details } = message;
  yield { role: 'assistant', content: '' };
  const thoughts = omitNullish({ reasoning, reasoning_content, reasoning_details });
  if (Object.keys(thoughts).length > 0) yield thoughts;
  if (content) yield { content };
  if (refusal) yield { refusal };
  for (const [index, { function: called, ...call }] of calls.entries()) {
    yield { tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] };
    yield { tool_calls: [{ index, function: { arguments: called.arguments } }] };
  }
}
