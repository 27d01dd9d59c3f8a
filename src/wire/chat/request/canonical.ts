import { type Changes, editBody } from '../../json/edit-body.ts';
import type { JsonBody } from '../../json/json-body.ts';
import type { Places } from '../../places.ts';
import type { AllowedTools, BodyTool, ChatBody, FunctionDefinition } from './body.ts';
import type { ChatRequest, Tool, ToolChoice } from '../chat.ts';
import { isForeign, toToolMessages } from './function-history.ts';

/** A chat request as engines take it, and what is needed to answer the client in its own words. */
export interface CanonicalChat {
  body: JsonBody<ChatRequest>;
  /** Where its parts stood, for errors. */
  places: Places;
  /** Calls go back as `function_call`: the request had `functions`. */
  hasFunctions: boolean;
}

type Members = Changes<ChatRequest>;

/** Nothing can be called, so nothing is chosen. */
const noTools: Members = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/**
 * The canonical form of a checked body: functions become tools, an allowed choice a shorter list of them; tools that run on
 * somebody's server are passed over. All else stays as it came, to the byte; most requests stay as they are.
 */
export function canonicalChat(given: JsonBody<ChatBody>): CanonicalChat {
  const { value } = given;
  const places: Places = new Map();
  const hasFunctions = Boolean(value.functions);
  const members: Members = {
    ...(value.messages.some(isForeign) && { messages: toToolMessages(value.messages) }),
    ...(hasFunctions ? fromFunctions(value, places) : fromTools(value, places)),
    ...(value.functions !== undefined && { functions: undefined }),
    ...(value.function_call !== undefined && { function_call: undefined }),
  };
  return { body: editBody(given as JsonBody<ChatRequest>, members), places, hasFunctions };
}

function fromFunctions({ functions, function_call: choice }: ChatBody, places: Places): Members {
  const tools = functions!.map((definition, index) => {
    const tool = toTool(definition);
    places.set(tool.function, `functions[${index}]`);
    return tool;
  });
  if (tools.length === 0) return noTools;
  places.set('tool_choice', 'function_call');
  return {
    tools,
    tool_choice: typeof choice === 'object' && choice ? named(choice.name) : (choice ?? 'auto'),
    // A message has room for one function call.
    parallel_tool_calls: false,
  };
}

function toTool({ name, description, parameters }: FunctionDefinition): Tool {
  return {
    type: 'function',
    function: { name, ...(description && { description }), ...(parameters && { parameters }) },
  };
}

const named = (name: string): ToolChoice => ({ type: 'function', function: { name } });

function fromTools({ tools: given, tool_choice: choice }: ChatBody, places: Places): Members {
  const allowed = isAllowed(choice) ? choice.allowed_tools : null;
  if (allowed && !given?.length) return noTools;
  const isPassedOver = (tool: BodyTool) => !isFunction(tool) || (allowed !== null && !allows(allowed, tool));
  if (!given?.some(isPassedOver)) return allowed ? { tool_choice: allowed.mode } : {};
  const tools: Tool[] = [];
  for (const [index, tool] of given.entries()) {
    if (isPassedOver(tool)) continue;
    places.set(tool, `tools[${index}]`);
    tools.push(tool as Tool);
  }
  if (tools.length === 0) return noTools;
  return { tools, ...(allowed && { tool_choice: allowed.mode }) };
}

function isAllowed(
  choice: ChatBody['tool_choice'],
): choice is { type: 'allowed_tools'; allowed_tools: AllowedTools } {
  return typeof choice === 'object' && choice?.type === 'allowed_tools';
}

/** Whether the client itself runs the tool. */
export function isFunction(tool: BodyTool): tool is Tool {
  return tool.type === 'function';
}

function allows({ tools }: AllowedTools, tool: Tool): boolean {
  return tools.some(({ function: each }) => each?.name === tool.function.name);
}
