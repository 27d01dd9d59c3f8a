import type { ChatRequest, Tool } from './chat.ts';

/** What an answer has to be, as far as the request alone tells. */
export interface AnswerRule {
  /** A call of a tool, JSON as the content, or nothing but text. */
  kind: 'call' | 'json' | 'text';
  /** The tools that may be called. Null where the request has none: then nothing is known about them. */
  names: ReadonlySet<string> | null;
  /** Calls in one answer at most. */
  maxCalls: number;
}

/**
 * What `tools`, `tool_choice`, `parallel_tool_calls` and `response_format` say together (api.md, section 6). A tool that is
 * named is called once, as the official API does it, and a call that is forced comes before a format.
 */
export function answerRule({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): AnswerRule {
  const names = tools?.length ? new Set(tools.map((tool) => tool.function.name)) : null;
  const most = choice === 'none' ? 0 : parallel === false ? 1 : Infinity;
  if (typeof choice === 'object' && choice !== null)
    return { kind: 'call', names: new Set([choice.function.name]), maxCalls: 1 };
  if (choice === 'required') return { kind: 'call', names, maxCalls: most };
  return { kind: !format || format.type === 'text' ? 'text' : 'json', names, maxCalls: most };
}

/**
 * Tools whose calls have to conform to their parameters: those that must be called, and strict ones that may be. The schemas
 * of all others are a matter between the client and the engine.
 */
export function guaranteedTools(request: ChatRequest): ReadonlySet<string> {
  const { kind, names, maxCalls: most } = answerRule(request);
  const isGuaranteed = ({ function: { name, strict } }: Tool) =>
    most > 0 && names!.has(name) && (kind === 'call' || strict === true);
  return new Set((request.tools ?? []).filter(isGuaranteed).map((tool) => tool.function.name));
}
