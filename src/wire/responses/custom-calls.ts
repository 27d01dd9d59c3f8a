import { argumentsOf } from '../chat/free-text.ts';
import type { ClientTool } from './client-tools.ts';
import { joinedName, keyOf, listed } from './client-tools.ts';
import { answeredCall, calledType, knownArguments, knownResult, resultType } from './known-tools.ts';
import { asChatItems, isOther } from './other-items.ts';
import type { OwnName, StoredItem } from './responses.ts';
import type { PlacedItem } from './request/to-chat-messages.ts';

/**
 * A conversation with calls of the client's own kinds as one with calls of functions, under the names by which the model knows
 * them.
 */
export function asFunctionCalls(
  items: readonly PlacedItem[],
  tools: readonly ClientTool[],
): readonly PlacedItem[] {
  if (!items.some(({ item }) => isForeign(item) || isOther(item))) return items;
  return items.flatMap(({ item, path }): PlacedItem[] => {
    if (isOther(item)) return asChatItems(item).map((each) => ({ item: each, path }));
    return [isForeign(item) ? { item: asFunctionCall(item, tools), path } : { item, path }];
  });
}

function isForeign(item: StoredItem): boolean {
  const { type, namespace } = item;
  if (type === 'custom_tool_call' || type === 'custom_tool_call_output' || namespace) return true;
  return Boolean(calledType(item) ?? resultType(item));
}

function asFunctionCall(item: StoredItem, tools: readonly ClientTool[]): StoredItem {
  const { type, name = '', input } = item;
  if (type === 'custom_tool_call_output') return { ...item, type: 'function_call_output' };
  const answered = resultType(item);
  if (answered)
    return {
      ...item,
      type: 'function_call_output',
      call_id: answeredCall(item),
      output: answered === 'tool_search' ? foundTools(item, tools) : knownResult(answered, item),
    };
  const made = calledType(item);
  if (made) return { ...item, type: 'function_call', name: made, arguments: knownArguments(item) };
  const namespace = item.namespace ?? undefined;
  const called = { ...item, name: modelsName({ name, ...(namespace && { namespace }) }, tools) };
  if (type !== 'custom_tool_call') return called;
  return { ...called, type: 'function_call', arguments: argumentsOf(input ?? '') };
}

/** The name by which the model knows a tool. */
function modelsName(own: Pick<OwnName, 'namespace' | 'name'>, tools: readonly ClientTool[]): string {
  return tools.find((tool) => keyOf(tool.own) === keyOf(own))?.fields.name ?? joinedName(own);
}

/** The result of a tool search for the model: names alone, because the descriptions are among the tools. */
function foundTools({ tools: found }: StoredItem, tools: readonly ClientTool[]): string {
  const names = [...listed(found, '')].map(({ own }) => modelsName(own, tools));
  return names.length === 0 ? 'No tools were found.' : `Found, and callable from now on: ${names.join(', ')}`;
}
