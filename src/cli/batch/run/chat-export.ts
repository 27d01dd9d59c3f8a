import { type Fields, fieldsOf, isObject } from '../../../base/fields.ts';

/** True for a conversation of an export of ChatGPT (`conversations.json`): a tree of messages. */
export function isExportedChat(item: Fields): boolean {
  return isObject(item['mapping']) && !('messages' in item);
}

/**
 * Messages of an exported conversation up to the last question, along the branch that was open at the end. Texts only: images, tool
 * calls and hidden messages are left out.
 */
export function exportedMessages({ mapping, current_node: last }: Fields): Fields[] {
  const nodes = fieldsOf(mapping);
  const messages: Fields[] = [];
  const seen = new Set<unknown>();
  for (let id = typeof last === 'string' ? last : lastLeaf(nodes); typeof id === 'string' && !seen.has(id);) {
    seen.add(id);
    const { message, parent } = fieldsOf(nodes[id]);
    const content = textOf(fieldsOf(message));
    if (content !== '') messages.unshift({ role: fieldsOf(fieldsOf(message)['author'])['role'], content });
    id = parent as string;
  }
  return withoutLastAnswer(messages);
}

/** Messages without the answers after the last question, which are what the model is asked for. */
export function withoutLastAnswer(messages: readonly Fields[]): Fields[] {
  const end = messages.findLastIndex(({ role }) => role !== 'assistant');
  return messages.slice(0, end + 1);
}

function lastLeaf(nodes: Fields): string | undefined {
  return Object.keys(nodes).findLast((id) => {
    const { children } = fieldsOf(nodes[id]);
    return !Array.isArray(children) || children.length === 0;
  });
}

const roles: readonly unknown[] = ['system', 'user', 'assistant'];

function textOf({ author, content, metadata }: Fields): string {
  const isHidden = fieldsOf(metadata)['is_visually_hidden_from_conversation'] === true;
  if (isHidden || !roles.includes(fieldsOf(author)['role'])) return '';
  const { content_type: type, parts } = fieldsOf(content);
  if ((type !== 'text' && type !== 'multimodal_text') || !Array.isArray(parts)) return '';
  return parts
    .filter((part) => typeof part === 'string')
    .join('\n')
    .trim();
}
