import type { BodyMessage, BodyToolCall, CustomCall } from './body.ts';
import type { ChatMessage, ToolCall } from '../chat.ts';
import { freeTextArguments } from '../free-text.ts';

/** A message that only the older format, or only another server, knows. */
export function needsConversion({ role, function_call: call, tool_calls: calls }: BodyMessage): boolean {
  return role === 'function' || (call ?? null) !== null || (calls ?? []).some(isCustom);
}

/**
 * A conversation with function calls as one with tool calls, a message for a message. A function's result belongs to the
 * last call before it that has its name.
 */
export function toToolMessages(messages: readonly BodyMessage[]): ChatMessage[] {
  const ids = new Map<string, string>();
  return messages.map(({ function_call: call, tool_calls: calls, ...message }, index) => {
    const { role, content, ...rest } = message;
    if (role === 'function') {
      const { name, ...others } = rest;
      return { ...others, role: 'tool', tool_call_id: ids.get(name!) ?? '', content: content ?? '' };
    }
    if (!call) return { ...message, role, ...(calls && { tool_calls: calls.map(toToolCall) }) };
    const id = callId(index);
    ids.set(call.name, id);
    const { name, arguments: json } = call;
    const called: ToolCall = { id, type: 'function', function: { name, arguments: json } };
    return { ...rest, role, content: content ?? null, tool_calls: [called] };
  });
}

/** The same in every request of a conversation, and nine letters and digits: some templates take no other. */
function callId(index: number): string {
  return `call${`${index}`.padStart(5, '0')}`;
}

function isCustom(call: BodyToolCall): call is CustomCall {
  return call.type === 'custom';
}

/** A call with free text as models are shown it. */
function toToolCall(call: BodyToolCall): ToolCall {
  if (!isCustom(call)) return call;
  const { name, input } = call.custom;
  return { id: call.id, type: 'function', function: { name, arguments: freeTextArguments(input) } };
}
