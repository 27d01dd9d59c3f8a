import type { Tool, ToolChoice } from '../chat/chat.ts';
import type { FunctionFields, FunctionTool, ResponsesRequest, ResponsesTool } from './responses.ts';

/** A function among the tools of a request, and where it stands there. */
export interface FoundFunction {
  fields: FunctionFields;
  /** `tools[2]`, or `tools[2].function` where it is nested. */
  path: string;
}

/** The functions of a request, in order. Tools of other types are hosted elsewhere: they are passed over. */
export function functionsOf({ tools }: ResponsesRequest): FoundFunction[] {
  return (tools ?? []).flatMap((tool, index) => {
    if (tool.type !== 'function') return [];
    const path = `tools[${index}]`;
    return tool.function
      ? [{ fields: tool.function, path: `${path}.function` }]
      : [{ fields: tool as ResponsesTool & FunctionFields, path }];
  });
}

/** The name a tool choice, or an entry of one, means. */
export function chosenName(choice: { name?: string; function?: { name: string } }): string {
  return choice.function?.name ?? choice.name ?? '';
}

/** Which functions may be called, and whether one must be: `allowed_tools` is a shorter list and a mode. */
export function toolsInEffect(request: ResponsesRequest): { found: FoundFunction[]; choice: ToolChoice } {
  const found = functionsOf(request);
  const choice = request.tool_choice ?? 'auto';
  if (typeof choice === 'string') return { found, choice };
  if (choice.type === 'function')
    return { found, choice: { type: 'function', function: { name: chosenName(choice) } } };
  const allowed = new Set((choice.tools ?? []).map(chosenName));
  return {
    found: found.filter(({ fields }) => allowed.has(fields.name)),
    choice: choice.mode ?? 'auto',
  };
}

export function toChatTool({ name, description, parameters, strict }: FunctionFields): Tool {
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      ...(parameters !== undefined && parameters !== null && { parameters }),
      ...(typeof strict === 'boolean' && { strict }),
    },
  };
}

/** A function as responses show it: flat, with every key. */
export function presentTool({ name, description, parameters, strict }: FunctionFields): FunctionTool {
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}
