import type { ChatMessage } from '../chat.ts';

/**
 * Removes the reasoning of finished turns without tool calls: chat templates drop it as well, and it costs tokens. Turns with
 * tool calls keep it, because DeepSeek, Kimi and others reject the conversation otherwise.
 * @param shownByTools user messages with tool results, which do not start a turn
 */
export function dropStaleThoughts(
  messages: readonly ChatMessage[],
  shownByTools: ReadonlySet<ChatMessage>,
): void {
  let turn: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role !== 'user' || shownByTools.has(message)) {
      turn.push(message);
      continue;
    }
    if (!turn.some(({ tool_calls: calls }) => calls?.length))
      for (const each of turn) {
        delete each.reasoning;
        delete each.reasoning_content;
      }
    turn = [];
  }
}
