import type { AssistantMessage, ChatDelta } from '../chat.ts';

/** All generated text of a message or a delta, including reasoning and calls. */
export function generatedText({
  content,
  reasoning,
  tool_calls: calls,
}: Pick<AssistantMessage | ChatDelta, 'content' | 'reasoning' | 'tool_calls'>): string {
  let text = (content ?? '') + (reasoning ?? '');
  for (const { function: called } of calls ?? []) text += (called?.name ?? '') + (called?.arguments ?? '');
  return text;
}
