import type { ChatMessage } from '../chat.ts';

/**
 * Removes the thoughts of finished turns in which no tool was called: chat templates leave them out as well, and they cost tokens.
 * A turn that called tools keeps its thoughts, because DeepSeek, Kimi and others refuse the conversation without them.
 * @param shownByTools messages of the user that hold results of tools, and so begin no turn
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
      for (const said of turn) {
        delete said.reasoning;
        delete said.reasoning_content;
      }
    turn = [];
  }
}
