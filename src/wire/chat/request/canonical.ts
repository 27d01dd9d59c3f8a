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

/** In which words a client has calls, where those are not the canonical ones. */
export interface CallForm {
  /** As `function_call`: the request had `functions`. */
  hasFunctions: boolean;
  /** Tools with free text, whose calls are of the type `custom`. */
  customs: ReadonlySet<string>;
}

export interface CanonicalChat {
  body: JsonBody<ChatRequest>;
  /** Where its parts stood, for errors. */
  paths: ReadonlyPathMap;
  calls: CallForm;
}

type Members = Changes<ChatRequest>;

const nowhere: ReadonlyPathMap = new Map();
const asTheyAre: CallForm = { hasFunctions: false, customs: new Set() };

/** Nothing can be called, so nothing is chosen. */
const noTools: Members = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/**
 * The canonical form of a checked body, as engines take it, and what is needed to answer the client in its own words:
 * functions and tools with free text become function tools, an allowed choice a shorter list of them; tools that run on
 * somebody's server are passed over. All else stays as it came, to the byte; most requests stay as they are.
 */
export function canonicalChat(given: JsonBody<ChatBody>): CanonicalChat {
  const { value } = given;
  if (isCanonical(value)) return { body: given as JsonBody<ChatRequest>, paths: nowhere, calls: asTheyAre };
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

/** What has no tools is in canonical form, and is most of what there is: it costs nothing. */
function isCanonical({ messages, tools, tool_choice: choice, functions, function_call: call }: ChatBody) {
  const isPlain =
    tools === undefined && choice === undefined && functions === undefined && call === undefined;
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
    tool_choice: typeof choice === 'object' && choice ? named(choice.name) : (choice ?? 'auto'),
    // A message has room for one function call.
    parallel_tool_calls: false,
  };
}

/** A function as a tool, without what is null. */
export function functionTool(given: FunctionDefinition & { strict?: boolean | null }): Tool {
  const { name, description, parameters, strict } = given;
  return { type: 'function', function: { name, ...omitNullish({ description, parameters, strict }) } };
}

const named = (name: string): ToolChoice => ({ type: 'function', function: { name } });

function fromTools({ tools: given, tool_choice: choice }: ChatBody, paths: PathMap): Members {
  const allowed = isAllowed(choice) ? choice.allowed_tools : null;
  if (allowed && !given?.length) return noTools;
  const chosen = toChoice(choice);
  const isKept = (tool: BodyTool) => isFunction(tool) && (allowed === null || allows(allowed, tool));
  if (!given || given.every(isKept)) return chosen;
  const tools: Tool[] = [];
  for (const [index, tool] of given.entries()) {
    if (!isClientTool(tool) || (allowed !== null && !allows(allowed, tool))) continue;
    const made = isFunction(tool) ? tool : customTool(tool);
    if (isCustom(tool)) {
      paths.set(made.function, `tools[${index}].custom`);
      paths.set(made.function.parameters as object, `tools[${index}].custom.format`);
    }
    paths.set(made, `tools[${index}]`);
    tools.push(made);
  }
  return tools.length === 0 ? noTools : { tools, ...chosen };
}

export function customTool({ custom }: CustomTool): Tool {
  const { name, description, format } = custom;
  return {
    type: 'function',
    custom,
    function: freeTextFunction({
      name,
      description,
      grammar: format?.type === 'grammar' ? format.grammar : undefined,
    }),
  };
}

/** The choice where engines know it by other words. */
function toChoice(choice: ChatBody['tool_choice']): Members {
  if (typeof choice !== 'object' || choice === null || choice.type === 'function') return {};
  return { tool_choice: isAllowed(choice) ? choice.allowed_tools.mode : named(choice.custom.name) };
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

/** Whether the client itself runs the tool. */
function isClientTool(tool: BodyTool): tool is Tool | CustomTool {
  return isFunction(tool) || isCustom(tool);
}

/** What a tool, or an entry of a choice, is called; none where somebody's server runs it. */
export function toolName({ type, function: own, custom }: AllowedTools['tools'][number]): string | undefined {
  if (type === 'function') return own?.name;
  return type === 'custom' ? custom?.name : undefined;
}

function allows({ tools }: AllowedTools, tool: BodyTool): boolean {
  return tools.some((each) => each.type === tool.type && toolName(each) === toolName(tool));
}
