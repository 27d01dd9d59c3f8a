import { fromBase64 } from '../../../base/base64.ts';
import { isObject } from '../../../base/fields.ts';
import type { CacheControl, ChatMessage, ContentPart } from '../../../wire/chat/chat.ts';
import type { Block, MessagesTurn } from '../../../wire/messages/messages.ts';
import { parseToolInput } from '../../../wire/messages/tool-input.ts';

/**
 * Converts a chat conversation to turns. System messages go before all turns; adjacent messages of one side become one turn,
 * with tool results first; messages without text are dropped, because blank text is refused. A conversation of system messages
 * alone becomes the user turn. Reasoning is dropped, because only its author could sign it. Cache marks keep their places.
 */
export function fromChatMessages(messages: readonly ChatMessage[]): {
  system: Block[];
  turns: MessagesTurn[];
} {
  const system: Block[] = [];
  const turns: (MessagesTurn & { content: Block[] })[] = [];
  for (const message of messages) {
    if (message.role === 'system' || message.role === 'developer') {
      system.push(...markedTexts(message));
      continue;
    }
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = writers[message.role](message);
    if (blocks.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role !== role) turns.push({ role, content: blocks });
    else if (message.role === 'tool') last.content.splice(endOfResults(last.content), 0, ...blocks);
    else last.content.push(...blocks);
  }
  if (turns.length > 0 || system.length === 0) return { system, turns };
  const content = system.some(({ cache_control: mark }) => mark) ? system : textBlocks(paragraphs(system));
  return { system: [], turns: [{ role: 'user', content }] };
}

export function paragraphs(blocks: readonly Block[]): string {
  return blocks.map(({ text }) => text).join('\n\n');
}

function endOfResults(content: readonly Block[]): number {
  const at = content.findIndex(({ type }) => type !== 'tool_result');
  return at < 0 ? content.length : at;
}

const writers: Record<'user' | 'assistant' | 'tool', (message: ChatMessage) => Block[]> = {
  user: ({ content }) => partsOf(content).flatMap(toBlock),
  assistant(message) {
    const calls = (message.tool_calls ?? []).map((call): Block => {
      const { name, arguments: json } = call.function;
      return { type: 'tool_use', id: callId(call.id), name, input: parseToolInput(json), ...markOf(call) };
    });
    const texts = textOf(message) === '' ? textBlocks(message.refusal ?? '') : markedTexts(message);
    return [...texts, ...calls];
  },
  tool: (message) => [
    {
      type: 'tool_result',
      tool_use_id: callId(message.tool_call_id ?? ''),
      content: textOf(message),
      ...markOf(partsOf(message.content).findLast(({ cache_control: mark }) => mark) ?? {}),
    },
  ],
};

/** Cache mark of a part, a call or a tool, without unknown members. */
export function markOf(marked: object): { cache_control?: CacheControl } {
  const { cache_control: mark } = marked as { cache_control?: unknown };
  if (!isObject(mark)) return {};
  const { type, ttl } = mark as CacheControl;
  return { cache_control: { ...(type !== undefined && { type }), ...(ttl !== undefined && { ttl }) } };
}

/** Text of a message as one block, or as several where cache marks divide it. */
function markedTexts({ content }: ChatMessage): Block[] {
  const blocks: Block[] = [];
  let text = '';
  for (const part of partsOf(content)) {
    text += part.text ?? part.refusal ?? '';
    const mark = markOf(part);
    if (!mark.cache_control || text.trim() === '') continue;
    blocks.push({ type: 'text', text, ...mark });
    text = '';
  }
  return [...blocks, ...textBlocks(text)];
}

/** Replaces characters in ids of other servers that are refused. */
function callId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_');
}

function partsOf(content: ChatMessage['content']): ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

function textOf({ content }: ChatMessage): string {
  return partsOf(content)
    .map(({ text, refusal }) => text ?? refusal ?? '')
    .join('');
}

function textBlocks(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function toBlock(part: ContentPart): Block[] {
  return toPlainBlock(part).map((block) => ({ ...block, ...markOf(part) }));
}

function toPlainBlock(part: ContentPart): Block[] {
  if (part.type === 'image_url') {
    const { url } = part['image_url'] as { url: string };
    return [{ type: 'image', source: sourceOf(url) }];
  }
  if (part.type !== 'file') return textBlocks(part.text ?? '');
  const { file_data: data = '', filename } = part['file'] as { file_data?: string; filename?: string };
  const source = sourceOf(data);
  const isText = source.media_type?.startsWith('text/') === true;
  const text = { type: 'text', media_type: 'text/plain', data: fromBase64(source.data ?? '') };
  return [{ type: 'document', source: isText ? text : source, ...(filename && { title: filename }) }];
}

function sourceOf(url: string): { type: string; media_type?: string; data?: string; url?: string } {
  const [, mediaType, data] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(url) ?? [];
  if (mediaType === undefined || data === undefined) return { type: 'url', url };
  return { type: 'base64', media_type: mediaType, data };
}
