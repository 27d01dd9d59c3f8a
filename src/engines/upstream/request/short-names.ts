import { hash } from 'node:crypto';
import type { ChatChunks, ChatRequest, ChatResponse, Tool, ToolCall } from '../../../wire/chat/chat.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import { exactValue } from '../../../wire/json/exact-numbers.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';

/** Longest tool name that every server accepts. */
const maxLength = 64;
const hashLength = 12;

/** Shortens tool names of more than 64 characters; undefined where none is. The result has functions to restore the names. */
export function withShortNames(request: JsonBody<ChatRequest>) {
  const names = namesIn(request.value);
  if (![...names].some(isLong)) return undefined;
  const shorts = new Map<string, string>();
  const taken = new Set(names);
  for (const name of names) if (isLong(name)) shorts.set(name, shortName(name, taken));
  const owns = new Map([...shorts].map(([own, short]) => [short, own]));

  const short = <T extends { name: string }>(named: T): T => ({
    ...named,
    name: shorts.get(named.name) ?? named.name,
  });
  const shortCall = (call: ToolCall): ToolCall => ({ ...call, function: short(call.function) });
  const shortTool = (tool: Tool): Tool => ({
    ...tool,
    function: short(tool.function),
    ...(tool.custom && { custom: short(tool.custom) }),
  });
  const { messages, tool_choice: choice } = request.value;
  const changed = messages.map((message) => {
    const { tool_calls: calls, name } = message;
    if (!calls?.length && !shorts.has(name ?? '')) return message;
    const named = name === undefined ? message : short({ ...message, name });
    return calls?.length ? { ...named, tool_calls: calls.map(shortCall) } : named;
  });

  const withTools = (tools: ChatRequest['tools']) =>
    editBody(request, {
      messages: changed,
      ...(tools && { tools: tools.map(shortTool) }),
      ...(typeof choice === 'object' &&
        choice && { tool_choice: { ...choice, function: short(choice.function) } }),
    });
  const renamed = withTools(request.value.tools);
  // Only the text holds every digit of the schemas.
  const { tools: exactTools } = exactValue(request);

  function putBack(called: { name?: string } | undefined): void {
    const name = owns.get(called?.name ?? '');
    if (called && name !== undefined) called.name = name;
  }
  return {
    request: exactTools === request.value.tools ? renamed : { ...renamed, text: withTools(exactTools).text },
    restore(answer: ChatResponse): ChatResponse {
      for (const { message } of answer.choices)
        for (const call of message.tool_calls ?? []) putBack(call.function);
      return answer;
    },
    async *restoreAll(lists: ChatChunks): ChatChunks {
      for await (const chunks of lists) {
        for (const { choices } of chunks)
          for (const { delta } of choices) for (const call of delta.tool_calls ?? []) putBack(call.function);
        yield chunks;
      }
    },
  };
}

const isLong = (name: string): boolean => name.length > maxLength;

/** Names of all tools that a request defines, chooses or has called. */
function namesIn({ tools, tool_choice: choice, messages }: ChatRequest): Set<string> {
  const names = new Set((tools ?? []).map((tool) => tool.function.name));
  if (typeof choice === 'object' && choice) names.add(choice.function.name);
  for (const { tool_calls: calls } of messages) for (const call of calls ?? []) names.add(call.function.name);
  return names;
}

/** Unused short name. It is the same for a name in every turn, which keeps the prompt cache. */
function shortName(name: string, taken: Set<string>): string {
  for (let n = 0; ; n++) {
    const end = hash('sha256', n === 0 ? name : `${name} ${n}`, 'base64url').slice(0, hashLength);
    const short = `${name.slice(0, maxLength - hashLength - 1)}_${end}`;
    if (taken.has(short)) continue;
    taken.add(short);
    return short;
  }
}
