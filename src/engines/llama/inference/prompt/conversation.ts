import type { Tool } from '../../../../wire/chat/chat.ts';
import { markedCalls } from '../families.ts';
import type { TemplateMessage } from './messages.ts';

/**
 * Other ways to say the same conversation, for templates that do not know some of its parts.
 */

/** Without a system role: what it said stands before the first message of the user. */
export function withoutSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const [system, ...others] = withOneSystem(messages);
  if (system?.role !== 'system') return [...messages];
  const at = others.findIndex(({ role }) => role === 'user');
  const user = others[at];
  if (!user) return [{ ...system, role: 'user' }, ...others];
  return others.with(at, { ...user, content: `${system.content}\n\n${user.content}` });
}

/** All that systems said, in front. */
export function withOneSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const said = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const others = messages.filter(({ role }) => role !== 'system');
  return said.length === 0 ? others : [{ role: 'system', content: said.join('\n\n') }, ...others];
}

/** With the system message changed, which is put in front where there is none. */
export function withSystem(
  messages: readonly TemplateMessage[],
  change: (system: TemplateMessage) => TemplateMessage,
): TemplateMessage[] {
  const [first, ...rest] = messages;
  if (first?.role === 'system') return [change(first), ...rest];
  return [change({ role: 'system', content: '' }), ...messages];
}

/** Calls and their results as text, in turns of the assistant and the user. */
export function withoutToolTurns(messages: readonly TemplateMessage[]): TemplateMessage[] {
  return messages.map((message) => {
    const { tool_calls: calls, tool_call_id: _, ...rest } = message;
    if (message.role === 'tool') {
      return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` };
    }
    if (!calls) return rest;
    const { start, end } = markedCalls;
    const written = calls.map(
      ({ function: { name, arguments: given } }) =>
        `${start}${JSON.stringify({ name, arguments: given })}${end}`,
    );
    return { ...rest, content: [message.content, ...written].filter((text) => text !== '').join('\n') };
  });
}

/** Turns of the same role as one, for templates in which roles must alternate. */
export function withAlternatingTurns(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const turns: TemplateMessage[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    const isSame = last?.role === message.role && message.role !== 'tool';
    if (!last || !isSame || last.tool_calls || message.tool_calls) turns.push({ ...message });
    else last.content = [last.content, message.content].filter((text) => text !== '').join('\n\n');
  }
  return turns;
}

/** Each call in a turn of its own with its result behind it, for templates that know one call a turn. */
export function withOneCallATurn(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const results = new Map(messages.map((message) => [message.tool_call_id, message]));
  const placed = new Set<TemplateMessage>();
  return messages.flatMap((message): TemplateMessage[] => {
    if (placed.has(message)) return [];
    if (!message.tool_calls || message.tool_calls.length < 2) return [message];
    return message.tool_calls.flatMap((call, i) => {
      const turn = { ...message, content: i === 0 ? message.content : '', tool_calls: [call] };
      const result = results.get(call.id);
      if (!result) return [turn];
      placed.add(result);
      return [turn, result];
    });
  });
}

/** Ids of nine letters and digits, the same for a call and its result. */
export function withShortCallIds(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const short = new Map<string, string>();
  const shorten = (id: string): string => {
    if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
    let found = short.get(id);
    if (!found) short.set(id, (found = `call${String(short.size + 1).padStart(5, '0')}`));
    return found;
  };
  return messages.map(({ tool_call_id: id, tool_calls: calls, ...message }) => ({
    ...message,
    ...(id !== undefined && { tool_call_id: shorten(id) }),
    ...(calls && { tool_calls: calls.map((call) => ({ ...call, id: shorten(call.id) })) }),
  }));
}

/** Tells a model whose template knows nothing of tools how to call them. */
export function withDescribedTools(
  messages: readonly TemplateMessage[],
  tools: readonly Tool[],
): TemplateMessage[] {
  const { start, end } = markedCalls;
  const text =
    `You can call these functions:\n${JSON.stringify(tools)}\n` +
    `To call one, answer with ${start}{"name": <its name>, "arguments": <its arguments>}${end} and nothing else.`;
  return withSystem(messages, (system) => ({
    ...system,
    content: [system.content, text].filter((part) => part !== '').join('\n\n'),
  }));
}
