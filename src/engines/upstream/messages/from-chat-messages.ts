import { fromBase64 } from '../../../base/base64.ts';
import type { ChatMessage, ContentPart } from '../../../wire/chat/chat.ts';
import type { Block, Turn } from '../../../wire/messages/messages.ts';
import { toolInput } from '../../../wire/messages/tool-input.ts';

/**
 * A chat conversation as turns. What the system says anywhere stands before all of them; messages of one side that follow
 * each other are one turn, in which results of tools come first; what says nothing is left out, because a text of nothing but
 * white space is refused. Where nobody but the system speaks, that is the turn to be answered. What the assistant thought is
 * left out too: only its author could sign it.
 */
export function fromChatMessages(messages: readonly ChatMessage[]): { system: string; turns: Turn[] } {
  const said: string[] = [];
  const turns: (Turn & { content: Block[] })[] = [];
  for (const message of messages) {
    if (message.role === 'system' || message.role === 'developer') {
      const text = textOf(message);
      if (text.trim() !== '') said.push(text);
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
  const system = said.join('\n\n');
  if (turns.length === 0 && system !== '')
    return { system: '', turns: [{ role: 'user', content: textBlocks(system) }] };
  return { system, turns };
}

function endOfResults(content: readonly Block[]): number {
  const at = content.findIndex(({ type }) => type !== 'tool_result');
  return at < 0 ? content.length : at;
}

const writers: Record<'user' | 'assistant' | 'tool', (message: ChatMessage) => Block[]> = {
  user: ({ content }) => partsOf(content).flatMap(toBlock),
  assistant(message) {
    const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: json } }): Block => ({
      type: 'tool_use',
      id: callId(id),
      name,
      input: toolInput(json),
    }));
    return [...textBlocks(textOf(message) || (message.refusal ?? '')), ...calls];
  },
  tool: (message) => [
    { type: 'tool_result', tool_use_id: callId(message.tool_call_id ?? ''), content: textOf(message) },
  ],
};

/** Other servers make ids with characters that are refused here. */
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
