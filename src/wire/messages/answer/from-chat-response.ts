import type { AssistantMessage, ChatResponse, ChatUsage, FinishReason } from '../../chat/chat.ts';
import type { AnswerBlock, Message, MessagesTier, MessagesUsage, StopReason } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { parseToolInput } from '../tool-input.ts';

export interface AnswerOptions {
  /** True for `display: "omitted"`: thinking is returned only in its signature. */
  hidesThinking: boolean;
  tier: MessagesTier;
}

/** Converts a chat completion to a message with thinking, text and calls, in this order. */
export function fromChatResponse(response: ChatResponse, options: AnswerOptions): Message {
  const { message, finish_reason: finish, stop_reason: stop = null } = response.choices[0]!;
  const ending = { finish, hasCalls: (message.tool_calls ?? []).length > 0, stop, refusal: message.refusal };
  const content = blocksOf(message, options);
  const usage = fromChatUsage(response.usage);
  return { ...emptyMessage(response, usage, options), content, ...endingFields(ending) };
}

export function emptyMessage(
  { id, model }: Pick<ChatResponse, 'id' | 'model'>,
  usage: MessagesUsage,
  { tier }: Pick<AnswerOptions, 'tier'>,
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
    usage: { ...usage, service_tier: tier },
  };
}

/** Replaces the prefix of the chat id. */
export function messageId(chatId: string): string {
  return chatId.replace(/^(chatcmpl[_-])?/, 'msg_');
}

function blocksOf(
  message: AssistantMessage,
  { hidesThinking }: Pick<AnswerOptions, 'hidesThinking'>,
): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  const thinking = message.reasoning_content ?? message.reasoning ?? '';
  if (thinking !== '')
    blocks.push({
      type: 'thinking',
      thinking: hidesThinking ? '' : thinking,
      signature: signatureFor(thinking, hidesThinking),
    });
  const text = (message.content ?? '') + (message.refusal ?? '');
  // Clients cannot send an empty text block back.
  if (text !== '') blocks.push({ type: 'text', text });
  for (const { id, function: called } of message.tool_calls ?? [])
    blocks.push({ type: 'tool_use', id, name: called.name, input: parseToolInput(called.arguments) });
  return blocks;
}

interface MessageEnding {
  finish: FinishReason;
  hasCalls: boolean;
  /** Stop sequence, if the engine reports one. */
  stop: string | null;
  refusal: string | null;
}

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

/** A tool call means `tool_use` whatever the engine reports, or clients would end the turn; not if the answer was cut. */
function stopReason({ finish, hasCalls, stop, refusal }: MessageEnding): StopReason {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || (refusal !== null && !hasCalls)) return 'refusal';
  if (hasCalls) return 'tool_use';
  return stop === null ? 'end_turn' : 'stop_sequence';
}

/** Converts usage. Cached tokens are counted apart from the input tokens instead of among them. */
export function fromChatUsage({
  prompt_tokens: prompt,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: wrote = 0 },
  completion_tokens_details: details,
}: Omit<ChatUsage, 'total_tokens'>): MessagesUsage {
  const read = Math.min(cached, prompt);
  const written = Math.min(wrote, prompt - read);
  return {
    input_tokens: prompt - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: completion,
    ...(details && { output_tokens_details: { thinking_tokens: details.reasoning_tokens } }),
  };
}
