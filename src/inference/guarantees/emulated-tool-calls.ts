import { isObject, parseOrUndefined } from '../../base/fields.ts';
import type {
  ChatChoice,
  ChatResponse,
  JsonSchema,
  ResponseFormat,
  Tool,
  ToolCall,
} from '../../wire/chat/chat.ts';
import { findMember, scanJson } from '../../wire/json/scan.ts';
import { stripCodeFence } from './code-fence.ts';
import { relocateSchema } from '../schemas/relocate-schema.ts';

/**
 * Emulates a forced tool call on an engine without them: the request asks for the arguments as JSON under a schema instead, and
 * the answer's text becomes the call. The call is checked afterwards like any other.
 * @param tools at least one, of which one must be called
 */
export function emulateToolCall(tools: readonly Tool[], newCallId: () => string) {
  const [only] = tools;
  const one = tools.length === 1 && only ? only : null;
  return {
    format: one ? formatOfOne(one) : formatOfSeveral(tools),
    /** Instruction for the system message; otherwise the model sees neither the tools nor the schema. */
    line: one ? lineForOne(one) : lineForSeveral(tools),
    /** Converts the answer's text to a call; leaves other text alone. */
    read: (response: ChatResponse): ChatResponse => ({
      ...response,
      choices: response.choices.map((choice) => readChoice(choice, one, newCallId)),
    }),
  };
}

function formatOfOne({ function: { name, parameters, strict } }: Tool): ResponseFormat {
  const schema = parameters ?? nothing;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === true && { strict }) } };
}

/** Schema of a tool name and its arguments. Each tool's schema becomes a definition, so that its references still work. */
function formatOfSeveral(tools: readonly Tool[]): ResponseFormat {
  const definitions: Record<string, JsonSchema> = {};
  const branches = tools.map(({ function: { name, parameters } }, index) => {
    const key = `tool${index}`;
    definitions[key] = relocateSchema(parameters ?? nothing, `#/$defs/${key}`);
    return {
      type: 'object',
      properties: { name: { const: name }, arguments: { $ref: `#/$defs/${key}` } },
      required: ['name', 'arguments'],
      additionalProperties: false,
    };
  });
  const schema = { anyOf: branches, $defs: definitions };
  return { type: 'json_schema', json_schema: { name: 'tool_call', schema } };
}

/** Parameters of a tool without any. */
const nothing: JsonSchema = { type: 'object', properties: {}, additionalProperties: false };

function lineForOne(tool: Tool): string {
  return (
    `You call the function ${JSON.stringify(tool.function.name)} now: answer with its arguments, one JSON object ` +
    `that conforms to its parameters, and with nothing else.\n${describe(tool)}`
  );
}

function lineForSeveral(tools: readonly Tool[]): string {
  return (
    'You call one of these functions now: answer with {"name": <its name>, "arguments": <its arguments>}, one JSON ' +
    `object, and with nothing else.\n${tools.map(describe).join('\n')}`
  );
}

function describe({ function: { name, description, parameters } }: Tool): string {
  return JSON.stringify({ name, description, parameters: parameters ?? nothing });
}

function readChoice(choice: ChatChoice, tool: Tool | null, newCallId: () => string): ChatChoice {
  const text = stripCodeFence(choice.message.content ?? '');
  const call = tool ? callOf(tool, text) : calledIn(text);
  if (!call || !call.arguments.startsWith('{')) return choice;
  return {
    ...choice,
    message: {
      ...choice.message,
      content: null,
      tool_calls: [{ id: newCallId(), type: 'function', function: call }],
    },
    logprobs: null,
    finish_reason: choice.finish_reason === 'stop' ? 'tool_calls' : choice.finish_reason,
  };
}

/** Unwraps `{"name", "arguments"}`, which some models write even when only the arguments are asked for. */
function callOf({ function: { name, parameters } }: Tool, text: string): Called {
  const called = calledIn(text);
  const properties = isObject(parameters) ? parameters['properties'] : undefined;
  const isWrapped =
    called?.name === name && !(isObject(properties) && Object.hasOwn(properties, 'arguments'));
  return isWrapped ? called : { name, arguments: text };
}

/** Name and arguments, as JSON text. */
type Called = ToolCall['function'];

/** Name and exact JSON text of the arguments, also of a text that was truncated within them. */
function calledIn(text: string): Called | null {
  const value = parseOrUndefined(text);
  if (value === undefined) {
    const [, name, rest] = /^\{\s*"name"\s*:\s*"([\w-]+)"\s*,\s*"arguments"\s*:\s*(\{.*)$/s.exec(text) ?? [];
    return name !== undefined && rest !== undefined ? { name, arguments: rest } : null;
  }
  const span = findMember(scanJson(text), 'arguments');
  if (!isObject(value) || typeof value['name'] !== 'string' || !span) return null;
  return { name: value['name'], arguments: text.slice(span.start, span.end) };
}
