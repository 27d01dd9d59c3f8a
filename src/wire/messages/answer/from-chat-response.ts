import type { AssistantMessage, ChatResponse } from '../../chat/chat.ts';
import { fromChatUsage } from './from-chat-usage.ts';
import { endingFields } from './map-stop-reason.ts';
import type { AnswerBlock, Message } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { toolInput } from '../tool-input.ts';

export interface AnswerOptions {
  /** The client does not want to see the thinking, only to have it kept: `display: "omitted"`. */
  hidesThinking: boolean;
}

/** A chat completion as a message: what was thought, what was said, what is called, in this order. */
export function fromChatResponse(response: ChatResponse, options: AnswerOptions): Message {
  const { message, finish_reason: finish, stop_reason: stop = null } = response.choices[0]!;
  const ending = { finish, hasCalls: (message.tool_calls ?? []).length > 0, stop, refusal: message.refusal };
  return {
    id: messageId(response.id),
    type: 'message',
    role: 'assistant',
    model: response.model,
    content: blocksOf(message, options),
    ...endingFields(ending),
    container: null,
    usage: fromChatUsage(response.usage),
  };
}

/** The same id under the prefix of messages, so that both can be found. */
export function messageId(chatId: string): string {
  return chatId.replace(/^(chatcmpl[_-])?/, 'msg_');
}

function blocksOf(message: AssistantMessage, { hidesThinking }: AnswerOptions): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  const thinking = message.reasoning_content ?? message.reasoning ?? '';
  if (thinking !== '')
    blocks.push({
      type: 'thinking',
      thinking: hidesThinking ? '' : thinking,
      signature: signatureFor(thinking, hidesThinking),
    });
  const text = (message.content ?? '') + (message.refusal ?? '');
  // An empty text is no block: clients cannot send it back.
  if (text !== '') blocks.push({ type: 'text', text });
  for (const { id, function: called } of message.tool_calls ?? [])
    blocks.push({ type: 'tool_use', id, name: called.name, input: toolInput(called.arguments) });
  return blocks;
}
