import type { ChatMessage } from '../../../wire/chat/chat.ts';
import type { Shape } from '../../../wire/json/pick-members.ts';

const names = ['reasoning_content', 'reasoning'] as const;

/**
 * A message with its thoughts under a name that the server reads; itself where they have one, or where the server reads none.
 * @param sent what of the message goes on
 * @param given the whole message
 * @param shape the members of messages that go on
 */
export function withThoughts(sent: ChatMessage, given: ChatMessage, shape: Shape | undefined): ChatMessage {
  const thoughts = given.reasoning || given.reasoning_content;
  if (!thoughts || typeof shape !== 'object' || names.some((name) => sent[name])) return sent;
  const name = names.find((each) => shape.has(each));
  return name ? { ...sent, [name]: thoughts } : sent;
}
