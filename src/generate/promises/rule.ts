import type { Capabilities } from '../../engines/engines.ts';
import type { ChatRequest } from '../../wire/chat/chat.ts';

/** What an answer has to be, as far as the request alone tells. */
export interface Rule {
  /** A call of a tool, JSON as the content, or nothing but text. */
  kind: 'call' | 'json' | 'text';
  /** The tools that may be called. Null where the request has none: then nothing is known about them. */
  names: ReadonlySet<string> | null;
  /** Calls in one answer at most. */
  most: number;
}

/** What a call is filtered by. */
export type CallRule = Pick<Rule, 'names' | 'most'>;

/** Whether any answer is right: nothing is said of calls, nor of the content. */
export function promisesNothing({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): boolean {
  return !tools && !choice && parallel !== false && !format;
}

/**
 * What `tools`, `tool_choice`, `parallel_tool_calls` and `response_format` say together (api.md, section 6). A tool that is
 * named is called once, as the official API does it, and a call that is forced comes before a format.
 */
export function ruleOf({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): Rule {
  const names = tools?.length ? new Set(tools.map((tool) => tool.function.name)) : null;
  const most = choice === 'none' ? 0 : parallel === false ? 1 : Infinity;
  if (typeof choice === 'object' && choice !== null)
    return { kind: 'call', names: new Set([choice.function.name]), most: 1 };
  if (choice === 'required') return { kind: 'call', names, most };
  return { kind: !format || format.type === 'text' ? 'text' : 'json', names, most };
}

/** A tool with `strict` is called as its parameters say, whoever decides that it is called. */
export function strictNames({ tools }: ChatRequest): ReadonlySet<string> {
  const strict = (tools ?? []).filter(({ function: each }) => each.strict === true);
  return new Set(strict.map(({ function: { name } }) => name));
}

/** Whether the engine writes nothing else by itself, so that the answer may be seen as it comes. */
export function isHeld({ kind }: Rule, { jsonSchema, forcedTool }: Capabilities): boolean {
  return kind === 'text' || (kind === 'call' ? forcedTool : jsonSchema) === 'exact';
}

/** Whether the engine itself keeps all that is promised, so that nobody has to look at the answer. */
export function keepsItself(chat: ChatRequest, { jsonSchema, forcedTool }: Capabilities): boolean {
  const { kind, most } = ruleOf(chat);
  const hasFormat = (chat.response_format?.type ?? 'text') !== 'text';
  const ofCalls = kind === 'call' || most !== Infinity || strictNames(chat).size > 0;
  return (!ofCalls || forcedTool === 'exact') && (!hasFormat || jsonSchema === 'exact');
}

/** Whether there are calls that an answer may not hold, or must end with. */
export function filtersCalls({ kind, names, most }: Rule): boolean {
  return kind === 'call' || names !== null || most !== Infinity;
}
