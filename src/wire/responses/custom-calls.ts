import { freeTextArguments } from '../chat/free-text.ts';
import { type ClientTool, joinedName, listTools, toolKey } from './client-tools.ts';
import { answeredCallId, calledType, definedArguments, definedResult, resultType } from './defined-tools.ts';
import { toChatItems, isConvertible } from './other-items.ts';
import type { ClientName, StoredItem } from './responses.ts';
import type { PlacedItem } from './request/to-chat-messages.ts';

/** Converts all calls of client tools to function calls, under the names that the model uses. */
export function toFunctionCalls(
  items: readonly PlacedItem[],
  tools: readonly ClientTool[],
): readonly PlacedItem[] {
  if (!items.some(({ item }) => isForeign(item) || isConvertible(item))) return items;
  return items.flatMap(({ item, path }): PlacedItem[] => {
    if (isConvertible(item)) return toChatItems(item).map((each) => ({ item: each, path }));
    return [isForeign(item) ? { item: toFunctionCall(item, tools), path } : { item, path }];
  });
}

function isForeign(item: StoredItem): boolean {
  const { type, namespace } = item;
  if (type === 'custom_tool_call' || type === 'custom_tool_call_output' || namespace) return true;
  return Boolean(calledType(item) ?? resultType(item));
}

function toFunctionCall(item: StoredItem, tools: readonly ClientTool[]): StoredItem {
  const { type, name = '', input } = item;
  if (type === 'custom_tool_call_output') return { ...item, type: 'function_call_output' };
  const answered = resultType(item);
  if (answered)
    return {
      ...item,
      type: 'function_call_output',
      call_id: answeredCallId(item),
      output: answered === 'tool_search' ? foundTools(item, tools) : definedResult(answered, item),
    };
  const made = calledType(item);
  if (made) return { ...item, type: 'function_call', name: made, arguments: definedArguments(item) };
  const namespace = item.namespace ?? undefined;
  const called = { ...item, name: modelsName({ name, ...(namespace && { namespace }) }, tools) };
  if (type !== 'custom_tool_call') return called;
  return { ...called, type: 'function_call', arguments: freeTextArguments(input ?? '') };
}

function modelsName(
  clientName: Pick<ClientName, 'namespace' | 'name'>,
  tools: readonly ClientTool[],
): string {
  return (
    tools.find((tool) => toolKey(tool.clientName) === toolKey(clientName))?.fields.name ??
    joinedName(clientName)
  );
}

/** Result of a tool search for the model: only names, because the tools have the descriptions. */
function foundTools({ tools: found }: StoredItem, tools: readonly ClientTool[]): string {
  const names = [...listTools(found, '')].map(({ clientName }) => modelsName(clientName, tools));
  return names.length === 0 ? 'No tools were found.' : `Found, and callable from now on: ${names.join(', ')}`;
}
