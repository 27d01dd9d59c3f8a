import { fieldsOf, parseOrUndefined, stringOr } from '../../base/fields.ts';
import { oneOf } from '../schema/schema.ts';
import { closedObject, integerInput, textInput, type ToolInputs } from '../shared/tool-inputs.ts';
import type { FunctionFields, DefinedCallItem, DefinedType, ResponsesTool, StoredItem } from './responses.ts';

type CallContent = Pick<DefinedCallItem, 'action' | 'operation' | 'arguments' | 'execution'>;

/** Conversion of a tool that the API defines and the client runs: to a function, and its calls to items. */
interface DefinedTool {
  description: string;
  properties: ToolInputs;
  required: readonly string[];
  /** Converts the function's arguments to the content of a call. */
  call(args: Record<string, unknown>): CallContent;
  /** Text of a result, if that is not its `output`. */
  resultText?(item: StoredItem): string;
}

const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description });

const timeout = integerInput('Milliseconds after which it is stopped.');

const definedTools: Record<DefinedType, DefinedTool> = {
  local_shell: {
    description: 'Runs a command on the computer of the user.',
    properties: {
      command: texts('The program and its arguments, such as ["bash", "-lc", "ls"].'),
      env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Variables to set.' },
      working_directory: textInput('Where to run it.'),
      timeout_ms: timeout,
      user: textInput('As whom to run it.'),
    },
    required: ['command'],
    call: (args) => ({
      action: { ...args, type: 'exec', command: toList(args['command']), env: fieldsOf(args['env']) },
    }),
  },
  shell: {
    description: 'Runs commands in a shell on the computer of the user.',
    properties: {
      commands: texts('The commands, each run by itself.'),
      timeout_ms: timeout,
      max_output_length: integerInput('The most characters of output to return.'),
    },
    required: ['commands'],
    call: (args) => ({
      action: { timeout_ms: null, max_output_length: null, ...args, commands: toList(args['commands']) },
    }),
    resultText: ({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)),
  },
  apply_patch: {
    description: 'Creates, updates or deletes one file.',
    properties: {
      type: oneOf(['create_file', 'update_file', 'delete_file']),
      path: textInput('Of the file.'),
      diff: textInput(
        'For create_file and update_file: the change as a V4A diff; lines begin with + or - or a blank.',
      ),
    },
    required: ['type', 'path'],
    call: (args) => ({
      operation: { ...args, type: stringOr(args['type'], 'update_file'), path: stringOr(args['path'], '') },
    }),
    resultText: ({ output, status }) => [status, output].filter(Boolean).join(': '),
  },
  tool_search: {
    description: 'Searches tools that can be called only once they were found.',
    properties: { query: textInput('What the tool is for.') },
    required: ['query'],
    call: (args) => ({ execution: 'client', arguments: args }),
  },
};

const toList = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : typeof value === 'string' ? [value] : [];

/** Type of a defined tool; undefined if it runs on a server, as a shell in a container and a search without a client do. */
export function definedType({ type, environment, execution }: ResponsesTool): DefinedType | undefined {
  if (type === 'tool_search') return execution === 'client' ? type : undefined;
  const where = fieldsOf(environment)['type'] ?? 'local';
  return isDefinedType(type) && where === 'local' ? type : undefined;
}

export function isDefinedType(type: string): type is DefinedType {
  return Object.hasOwn(definedTools, type);
}

/** Function for a defined tool. The client describes a search itself. */
export function definedFunction(
  type: DefinedType,
  { description: given, parameters }: ResponsesTool,
): FunctionFields {
  const { description, properties, required } = definedTools[type];
  const input = closedObject(properties, required);
  if (type !== 'tool_search') return { name: type, description, parameters: input };
  return { name: type, description: given || description, parameters: parameters ?? input };
}

interface CallLike {
  type: string;
  call_id?: unknown;
}

export function callTypeOf(type: DefinedType): DefinedCallItem['type'] {
  return `${type}_call`;
}

/** Content of a call; empty if the arguments are not an object. */
export function definedCall(type: DefinedType, json: string): CallContent {
  // The arguments of a truncated answer may be invalid.
  return definedTools[type].call(fieldsOf(parseOrUndefined(json)));
}

/** Defined tool that an item calls. A search without `call_id` ran on a server. */
export function calledType({ type, call_id: id }: CallLike): DefinedType | undefined {
  const tool = type.endsWith('_call') ? type.slice(0, -'_call'.length) : '';
  if (tool === 'tool_search' && !id) return undefined;
  return isDefinedType(tool) ? tool : undefined;
}

/** Defined tool whose result an item is. */
export function resultType({ type, call_id: id }: CallLike): DefinedType | undefined {
  if (type === 'tool_search_output') return id ? 'tool_search' : undefined;
  return type.endsWith('_output') ? calledType({ type: type.slice(0, -'_output'.length) }) : undefined;
}

/** Function arguments of a call. */
export function definedArguments(
  call: Pick<StoredItem, 'type'> & Omit<CallContent, 'arguments'> & { arguments?: unknown },
): string {
  const { type, action, operation, arguments: args } = call;
  if (type === 'tool_search_call') return typeof args === 'string' ? args : JSON.stringify(args ?? {});
  if (type !== 'local_shell_call') return JSON.stringify(action ?? operation ?? {});
  const { type: _, ...command } = action ?? {};
  return JSON.stringify(command);
}

export function definedResult(type: DefinedType, item: StoredItem): string {
  return definedTools[type].resultText?.(item) ?? (item.output as string);
}

/** Id of the call that a result answers. Some clients of the older shell send it as `id`. */
export function answeredCallId({ call_id: called, id }: StoredItem): string {
  return called ?? id;
}
