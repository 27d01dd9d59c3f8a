import { omitNullish } from '../../../base/fields.ts';
import { type Changes, editBody } from '../../json/edit-body.ts';
import type { JsonBody } from '../../json/json-body.ts';
import type { PathMap, ReadonlyPathMap } from '../../shared/path-map.ts';
import type {
  AllowedTools,
  BodyTool,
  BodyToolChoice,
  ChatBody,
  CustomTool,
  FunctionDefinition,
} from './body.ts';
import type { ChatRequest, Tool, ToolChoice } from '../chat.ts';
import { freeTextFunction } from '../free-text.ts';
import { needsConversion, toToolMessages } from './function-history.ts';

/** Form of calls that the client expects, where it is not the canonical one. */
export interface CallForm {
  /** True if the request had `functions`: calls are returned as `function_call`. */
  hasFunctions: boolean;
  /** Names of free-text tools, whose calls have the type `custom`. */
  customs: ReadonlySet<string>;
}

export interface CanonicalChat {
  body: JsonBody<ChatRequest>;
  /** Original paths, for errors. */
  paths: ReadonlyPathMap;
  calls: CallForm;
}

type Members = Changes<ChatRequest>;

const noPaths: ReadonlyPathMap = new Map();
const canonicalCalls: CallForm = { hasFunctions: false, customs: new Set() };

const noTools: Members = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/**
 * Converts a checked body to the canonical form that engines take. Functions and free-text tools become function tools,
 * `allowed_tools` shortens their list, and server tools are dropped. Every other byte stays as received; most requests need
 * no change.
 */
export function canonicalChat(given: JsonBody<ChatBody>): CanonicalChat {
  const { value } = given;
  if (isCanonical(value))
    return { body: given as JsonBody<ChatRequest>, paths: noPaths, calls: canonicalCalls };
  const paths: PathMap = new Map();
  const hasFunctions = Boolean(value.functions);
  const customs = new Set((value.tools ?? []).flatMap((tool) => (isCustom(tool) ? tool.custom.name : [])));
  const members: Members = {
    ...(value.messages.some(needsConversion) && { messages: toToolMessages(value.messages) }),
    ...(hasFunctions ? fromFunctions(value, paths) : fromTools(value, paths)),
    ...(value.functions !== undefined && { functions: undefined }),
    ...(value.function_call !== undefined && { function_call: undefined }),
  };
  const calls: CallForm = { hasFunctions, customs };
  return { body: editBody(given as JsonBody<ChatRequest>, members), paths, calls };
}

/** Fast path: a request without tools or functions, as most are. */
function isCanonical({ messages, tools, tool_choice: choice, functions, function_call: call }: ChatBody) {
  const isPlain = [tools, choice, functions, call].every((member) => member === undefined);
  return isPlain && !messages.some(needsConversion);
}

function fromFunctions({ functions, function_call: choice }: ChatBody, paths: PathMap): Members {
  const tools = functions!.map(({ name, description, parameters }, index) => {
    const tool = functionTool({ name, description: description || null, parameters: parameters || null });
    paths.set(tool.function, `functions[${index}]`);
    return tool;
  });
  if (tools.length === 0) return noTools;
  paths.set('tool_choice', 'function_call');
  return {
    tools,
    tool_choice: typeof choice === 'object' && choice ? chooseFunction(choice.name) : (choice ?? 'auto'),
    // A message can hold only one function call.
    parallel_tool_calls: false,
  };
}

/** Converts a function to a tool, without null members. */
export function functionTool(definition: FunctionDefinition & { strict?: boolean | null }): Tool {
  const { name, description, parameters, strict } = definition;
  return { type: 'function', function: { name, ...omitNullish({ description, parameters, strict }) } };
}

const chooseFunction = (name: string): ToolChoice => ({ type: 'function', function: { name } });

function fromTools({ tools: given, tool_choice: choice }: ChatBody, paths: PathMap): Members {
  const allowed = isAllowed(choice) ? choice.allowed_tools : null;
  if (allowed && !given?.length) return noTools;
  const chosen = toChoice(choice);
  const isKept = (tool: BodyTool) => isFunction(tool) && (allowed === null || allows(allowed, tool));
  if (!given || given.every(isKept)) return chosen;
  const tools: Tool[] = [];
  for (const [index, tool] of given.entries()) {
    if (!(isFunction(tool) || isCustom(tool)) || (allowed !== null && !allows(allowed, tool))) continue;
    const converted = isFunction(tool) ? tool : customTool(tool);
    if (isCustom(tool)) {
      paths.set(converted.function, `tools[${index}].custom`);
      paths.set(converted.function.parameters as object, `tools[${index}].custom.format`);
    }
    paths.set(converted, `tools[${index}]`);
    tools.push(converted);
  }
  return tools.length === 0 ? noTools : { tools, ...chosen };
}

export function customTool({ custom }: CustomTool): Tool {
  const { name, description, format } = custom;
  const grammar = format?.type === 'grammar' ? format.grammar : undefined;
  return { type: 'function', custom, function: freeTextFunction({ name, description, grammar }) };
}

/** Converts a choice that engines do not know. */
function toChoice(choice: ChatBody['tool_choice']): Members {
  if (typeof choice !== 'object' || choice === null || choice.type === 'function') return {};
  return { tool_choice: isAllowed(choice) ? choice.allowed_tools.mode : chooseFunction(choice.custom.name) };
}

function isAllowed(
  choice: ChatBody['tool_choice'],
): choice is Extract<BodyToolChoice, { type: 'allowed_tools' }> {
  return typeof choice === 'object' && choice?.type === 'allowed_tools';
}

export function isFunction(tool: BodyTool): tool is Tool {
  return tool.type === 'function';
}

export function isCustom(tool: BodyTool): tool is CustomTool {
  return tool.type === 'custom';
}

/** Name of a tool or of a choice; undefined for server tools. */
export function toolName({
  type,
  function: called,
  custom,
}: AllowedTools['tools'][number]): string | undefined {
  if (type === 'function') return called?.name;
  return type === 'custom' ? custom?.name : undefined;
}

function allows({ tools }: AllowedTools, tool: BodyTool): boolean {
  return tools.some((each) => each.type === tool.type && toolName(each) === toolName(tool));
}
