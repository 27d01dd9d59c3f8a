import type { Tool } from '../../../../wire/chat/chat.ts';
import { markedCalls } from '../families.ts';
import type { TemplateMessage } from './messages.ts';

// Equivalent forms of a conversation, for templates that lack some of its parts.

/** Moves the system message to the start of the first user message. */
export function withoutSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const [system, ...others] = withOneSystem(messages);
  if (system?.role !== 'system') return [...messages];
  const at = others.findIndex(({ role }) => role === 'user');
  const user = others[at];
  if (!user) return [{ ...system, role: 'user' }, ...others];
  return others.with(at, { ...user, content: `${system.content}\n\n${user.content}` });
}

/** Joins all system messages into one at the start. */
export function withOneSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const others = messages.filter(({ role }) => role !== 'system');
  return system.length === 0 ? others : [{ role: 'system', content: system.join('\n\n') }, ...others];
}

/** Changes the system message, which is added if there is none. */
export function withSystem(
  messages: readonly TemplateMessage[],
  change: (system: TemplateMessage) => TemplateMessage,
): TemplateMessage[] {
  const [first, ...rest] = messages;
  if (first?.role === 'system') return [change(first), ...rest];
  return [change({ role: 'system', content: '' }), ...messages];
}

/** Writes calls and results as text, in turns of the assistant and the user. */
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

/** Joins consecutive turns of one role, for templates that require alternating roles. */
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

/** Gives each call its own turn, followed by its result, for templates with one call per turn. */
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

/** Replaces IDs of calls, and of their results, by nine letters and digits. */
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

/** Describes the tools in the system message, for templates without tools. */
export function withDescribedTools(messages: readonly TemplateMessage[], tools: readonly Tool[]) {
  const { start, end } = markedCalls;
  const text =
    `You can call these functions:\n${JSON.stringify(tools)}\n` +
    `To call one, answer with ${start}{"name": <its name>, "arguments": <its arguments>}${end} and nothing else.`;
  return withSystem(messages, (system) => ({
    ...system,
    content: [system.content, text].filter((part) => part !== '').join('\n\n'),
  }));
}
