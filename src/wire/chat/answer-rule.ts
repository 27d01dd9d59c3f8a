import type { ChatRequest, Tool } from './chat.ts';

/** Required form of an answer, as far as the request alone determines it. */
export interface AnswerRule {
  /** A tool call, JSON content, or any text. */
  kind: 'call' | 'json' | 'text';
  /** Tools that may be called. Null if the request has none: then any name may be called. */
  names: ReadonlySet<string> | null;
  maxCalls: number;
}

/**
 * Combines `tools`, `tool_choice`, `parallel_tool_calls` and `response_format`. A named tool is called exactly once, as in
 * the OpenAI API, and a forced call takes precedence over a format.
 */
export function answerRule({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): AnswerRule {
  const names = tools?.length ? new Set(tools.map((tool) => tool.function.name)) : null;
  const maxCalls = choice === 'none' ? 0 : parallel === false ? 1 : Infinity;
  if (typeof choice === 'object' && choice !== null)
    return { kind: 'call', names: new Set([choice.function.name]), maxCalls: 1 };
  if (choice === 'required') return { kind: 'call', names, maxCalls };
  return { kind: !format || format.type === 'text' ? 'text' : 'json', names, maxCalls };
}

/** Tools whose calls must conform to their parameters: forced ones, and strict ones. */
export function guaranteedTools(request: ChatRequest): ReadonlySet<string> {
  const { kind, names, maxCalls } = answerRule(request);
  const isGuaranteed = ({ function: { name, strict } }: Tool) =>
    maxCalls > 0 && names!.has(name) && (kind === 'call' || strict === true);
  return new Set((request.tools ?? []).filter(isGuaranteed).map((tool) => tool.function.name));
}
