import type { BodyMessage, BodyToolCall, CustomCall } from './body.ts';
import type { ChatMessage, ToolCall } from '../chat.ts';
import { freeTextArguments } from '../free-text.ts';

/** True for messages of the functions API, and for calls of free-text tools. */
export function needsConversion({ role, function_call: call, tool_calls: calls }: BodyMessage): boolean {
  return role === 'function' || (call ?? null) !== null || (calls ?? []).some(isCustom);
}

/** Converts function calls to tool calls, message by message. A result answers the last earlier call of its function. */
export function toToolMessages(messages: readonly BodyMessage[]): ChatMessage[] {
  const ids = new Map<string, string>();
  return messages.map(({ function_call: call, tool_calls: calls, ...message }, index) => {
    const { role, content, ...rest } = message;
    if (role === 'function') {
      const { name, ...others } = rest;
      return { ...others, role: 'tool', tool_call_id: ids.get(name!) ?? '', content: content ?? '' };
    }
    if (!call) return { ...message, role, ...(calls && { tool_calls: calls.map(toToolCall) }) };
    // Stable across the requests of a conversation; nine letters and digits, because some chat templates require that.
    const id = `call${`${index}`.padStart(5, '0')}`;
    ids.set(call.name, id);
    const { name, arguments: json } = call;
    const called: ToolCall = { id, type: 'function', function: { name, arguments: json } };
    return { ...rest, role, content: content ?? null, tool_calls: [called] };
  });
}

function isCustom(call: BodyToolCall): call is CustomCall {
  return call.type === 'custom';
}

function toToolCall(call: BodyToolCall): ToolCall {
  if (!isCustom(call)) return call;
  const { name, input } = call.custom;
  return { id: call.id, type: 'function', function: { name, arguments: freeTextArguments(input) } };
}
