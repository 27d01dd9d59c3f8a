import type { ChatMessage } from '../../../wire/chat/chat.ts';
import type { Shape } from '../../../wire/json/pick-members.ts';

const names = ['reasoning_content', 'reasoning'] as const;

/**
 * A message with its thoughts under every name that the server may read; itself where it has those, or where the server reads none.
 * Versions of vLLM read one name or the other, and ignore the rest.
 * @param sent the members of the message that are sent
 * @param given the whole message
 * @param shape the members of messages that this server is sent
 */
export function withThoughts(sent: ChatMessage, given: ChatMessage, shape: Shape | undefined): ChatMessage {
  const thoughts = given.reasoning || given.reasoning_content;
  if (!thoughts || typeof shape !== 'object') return sent;
  const missing = names.filter((name) => shape.has(name) && !sent[name]);
  if (missing.length === 0) return sent;
  return { ...sent, ...Object.fromEntries(missing.map((name) => [name, thoughts])) };
}
