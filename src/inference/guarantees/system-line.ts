import type { ChatMessage } from '../../wire/chat/chat.ts';

/**
 * A conversation in which the system also says `line`: at the end of its first message, because many chat templates take
 * one system message, at the start.
 */
export function withSystemLine(messages: readonly ChatMessage[], line: string): ChatMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system' && first?.role !== 'developer')
    return [{ role: 'system', content: line }, ...messages];
  const { content } = first;
  const longer = Array.isArray(content)
    ? [...content, { type: 'text', text: `\n\n${line}` }]
    : [content ?? '', line].filter((text) => text !== '').join('\n\n');
  return [{ ...first, content: longer }, ...rest];
}
