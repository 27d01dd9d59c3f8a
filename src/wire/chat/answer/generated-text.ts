import type { AssistantMessage, ChatDelta } from '../chat.ts';

/** All that a message, or a piece of one, says: its thoughts and calls too, which are tokens like any other. */
export function generatedText({
  content,
  reasoning,
  tool_calls: calls,
}: Pick<AssistantMessage | ChatDelta, 'content' | 'reasoning' | 'tool_calls'>): string {
  let text = (content ?? '') + (reasoning ?? '');
  for (const { function: called } of calls ?? []) text += (called?.name ?? '') + (called?.arguments ?? '');
  return text;
}
