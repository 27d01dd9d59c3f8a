import { argumentsOf } from '../chat/free-text.ts';
import type { ClientTool } from './client-tools.ts';
import { joinedName } from './client-tools.ts';
import { answeredCall, calledType, knownArguments, knownResult, resultType } from './known-tools.ts';
import type { StoredItem } from './responses.ts';
import type { PlacedItem } from './request/to-chat-messages.ts';

/**
 * A conversation with calls of the client's own kinds as one with calls of functions, under the names by which the model knows
 * them.
 */
export function asFunctionCalls(
  items: readonly PlacedItem[],
  tools: readonly ClientTool[],
): readonly PlacedItem[] {
  if (!items.some(({ item }) => isForeign(item))) return items;
  return items.map(({ item, path }) =>
    isForeign(item) ? { item: asFunctionCall(item, tools), path } : { item, path },
  );
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
      output: knownResult(answered, item),
    };
  const made = calledType(item);
  if (made) return { ...item, type: 'function_call', name: made, arguments: knownArguments(item) };
  const namespace = item.namespace ?? undefined;
  const known = tools.find(({ own }) => own.name === name && own.namespace === namespace);
  const called = {
    ...item,
    name: known?.fields.name ?? joinedName({ name, ...(namespace && { namespace }) }),
  };
  if (type !== 'custom_tool_call') return called;
  return { ...called, type: 'function_call', arguments: argumentsOf(input ?? '') };
}
