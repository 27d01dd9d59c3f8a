import { fieldsOf } from '../../../base/fields.ts';
import type { Block, MessagesRequest, MessagesTool } from '../messages.ts';

/** Tool with its path in the request. */
export interface PlacedTool {
  tool: MessagesTool;
  path: string;
}

/** Tools of a request after the additions and removals in its conversation. Deferred tools count from the beginning. */
export function toolsInEffect({
  tools,
  messages,
}: Pick<MessagesRequest, 'tools' | 'messages'>): PlacedTool[] {
  let found = (tools ?? []).map((tool, index): PlacedTool => ({ tool, path: `tools[${index}]` }));
  const removed = new Set<string>();
  const change = ({ type, tool }: Block, path: string) => {
    const { type: kind, name, definition } = fieldsOf(tool);
    if (type === 'tool_addition' && kind === 'tool_definition') {
      const added = definition as MessagesTool;
      found = [
        ...found.filter((each) => each.tool.name !== added.name),
        { tool: added, path: `${path}.tool.definition` },
      ];
      removed.delete(added.name);
    }
    if (kind !== 'tool_reference' || typeof name !== 'string') return;
    if (type === 'tool_removal') removed.add(name);
    else removed.delete(name);
  };
  for (const [at, { content }] of messages.entries())
    if (typeof content !== 'string')
      for (const [index, block] of content.entries()) {
        const path = `messages[${at}].content[${index}]`;
        if (isChange(block)) change(block, path);
        for (const [n, each] of (block.tool_changes ?? []).entries())
          change(each, `${path}.tool_changes[${n}]`);
      }
  return found.filter(({ tool }) => !removed.has(tool.name));
}

export function isChange({ type }: Block): boolean {
  return type === 'tool_addition' || type === 'tool_removal';
}
