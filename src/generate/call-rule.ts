import type { ChatRequest } from '../wire/chat/chat.ts';

/** Which calls of tools an answer may hold, and whether it must hold one. */
export interface CallRule {
  /** An answer without a call breaks the promise. */
  required: boolean;
  /** The tools that may be called. Null where the request has none: then nothing is known about them. */
  names: ReadonlySet<string> | null;
  /** Calls in one answer at most. */
  most: number;
}

/**
 * What `tools`, `tool_choice` and `parallel_tool_calls` say together (api.md, section 6). A tool that is named is called
 * once, as the official API does it.
 */
export function callRule({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ChatRequest): CallRule {
  const names = tools?.length ? new Set(tools.map((tool) => tool.function.name)) : null;
  const most = parallel === false ? 1 : Infinity;
  if (choice === 'none') return { required: false, names, most: 0 };
  if (typeof choice === 'object' && choice !== null)
    return { required: true, names: new Set([choice.function.name]), most: 1 };
  return { required: choice === 'required', names, most };
}

/** Whether any call, and none, is right. */
export function isFree({ required, names, most }: CallRule): boolean {
  return !required && names === null && most === Infinity;
}
