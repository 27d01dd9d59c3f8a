import type { AssistantMessage, ChatResponse, ChatUsage, FinishReason } from '../../chat/chat.ts';
import type { AnswerBlock, Message, MessagesUsage, StopReason } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { parseToolInput } from '../tool-input.ts';

export interface AnswerOptions {
  /** The client does not want to see the thinking, only to have it kept: `display: "omitted"`. */
  hidesThinking: boolean;
}

/** A chat completion as a message: what was thought, what was said, what is called, in this order. */
export function fromChatResponse(response: ChatResponse, options: AnswerOptions): Message {
  const { message, finish_reason: finish, stop_reason: stop = null } = response.choices[0]!;
  const ending = { finish, hasCalls: (message.tool_calls ?? []).length > 0, stop, refusal: message.refusal };
  const content = blocksOf(message, options);
  return { ...emptyMessage(response, fromChatUsage(response.usage)), content, ...endingFields(ending) };
}

/** A message before anything of it is there. */
export function emptyMessage(
  { id, model }: Pick<ChatResponse, 'id' | 'model'>,
  usage: MessagesUsage,
): Message {
  return {
    id: messageId(id),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage,
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
    blocks.push({ type: 'tool_use', id, name: called.name, input: parseToolInput(called.arguments) });
  return blocks;
}

interface MessageEnding {
  finish: FinishReason;
  hasCalls: boolean;
  /** The stop sequence that the engine says it met. */
  stop: string | null;
  refusal: string | null;
}

/** The fields of a message that tell how it ended. */
export function endingFields(
  ending: MessageEnding,
): Pick<Message, 'stop_reason' | 'stop_sequence' | 'stop_details'> {
  const reason = stopReason(ending);
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? ending.stop : null,
    stop_details:
      reason === 'refusal' ? { type: 'refusal', category: null, explanation: ending.refusal } : null,
  };
}

/**
 * A call of a tool tells by itself that one is called, whatever the engine says (wire-formats.md, section 2.2): clients end
 * the turn otherwise. Only an answer that was cut is none to act upon.
 */
function stopReason({ finish, hasCalls, stop, refusal }: MessageEnding): StopReason {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || (refusal !== null && !hasCalls)) return 'refusal';
  if (hasCalls) return 'tool_use';
  return stop === null ? 'end_turn' : 'stop_sequence';
}

/** Usage with the cached tokens beside the others instead of among them. */
export function fromChatUsage({
  prompt_tokens: prompt,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: details,
}: Omit<ChatUsage, 'total_tokens'>): MessagesUsage {
  const read = Math.min(cached, prompt);
  return {
    input_tokens: prompt - read,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: read,
    output_tokens: completion,
    ...(details && { output_tokens_details: { thinking_tokens: details.reasoning_tokens } }),
  };
}
