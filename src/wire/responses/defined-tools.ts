import { fieldsOf, parseOrUndefined, stringOr } from '../../base/fields.ts';
import { oneOf } from '../schema/schema.ts';
import { closedObject, integerInput, textInput, type ToolInputs } from '../shared/tool-inputs.ts';
import type { FunctionFields, DefinedCallItem, DefinedType, ResponsesTool, StoredItem } from './responses.ts';

type CallContent = Pick<DefinedCallItem, 'action' | 'operation' | 'arguments' | 'execution'>;

/** A tool that the format defines and the client runs, as a function, and its calls as items. */
interface DefinedTool {
  description: string;
  properties: ToolInputs;
  required: readonly string[];
  /** What a call holds, by the arguments of the function. What is missing there is empty. */
  call(given: Record<string, unknown>): CallContent;
  /** What a result says, if not its `output`. */
  said?(item: StoredItem): string;
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
    call: (given) => ({
      action: { ...given, type: 'exec', command: listOf(given['command']), env: fieldsOf(given['env']) },
    }),
  },
  shell: {
    description: 'Runs commands in a shell on the computer of the user.',
    properties: {
      commands: texts('The commands, each run by itself.'),
      timeout_ms: timeout,
      max_output_length: integerInput('The most characters of output that are told.'),
    },
    required: ['commands'],
    call: (given) => ({
      action: {
        timeout_ms: null,
        max_output_length: null,
        ...given,
        commands: listOf(given['commands']),
      },
    }),
    said: ({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)),
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
    call: (given) => ({
      operation: {
        ...given,
        type: stringOr(given['type'], 'update_file'),
        path: stringOr(given['path'], ''),
      },
    }),
    said: ({ output, status }) => [status, output].filter(Boolean).join(': '),
  },
  tool_search: {
    description: 'Searches tools that can be called only once they were found.',
    properties: { query: textInput('What the tool is for.') },
    required: ['query'],
    call: (given) => ({ execution: 'client', arguments: given }),
  },
};

const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : typeof value === 'string' ? [value] : [];

/** The type of a tool that is one of these; a shell in a container, and a search without a client, run on a server. */
export function definedType({ type, environment, execution }: ResponsesTool): DefinedType | undefined {
  if (type === 'tool_search') return execution === 'client' ? type : undefined;
  const where = fieldsOf(environment)['type'] ?? 'local';
  return isDefinedType(type) && where === 'local' ? type : undefined;
}

export function isDefinedType(type: string): type is DefinedType {
  return Object.hasOwn(definedTools, type);
}

/** A search is described by its client. */
export function definedFunction(
  type: DefinedType,
  { description: own, parameters }: ResponsesTool,
): FunctionFields {
  const { description, properties, required } = definedTools[type];
  const input = closedObject(properties, required);
  if (type !== 'tool_search') return { name: type, description, parameters: input };
  return { name: type, description: own || description, parameters: parameters ?? input };
}

export function callTypeOf(type: DefinedType): DefinedCallItem['type'] {
  return `${type}_call`;
}

/** What a call holds; of arguments that are no object, nothing. */
export function definedCall(type: DefinedType, json: string): CallContent {
  // An answer that was cut ends in the middle of something.
  return definedTools[type].call(fieldsOf(parseOrUndefined(json)));
}

/** The tool whose call an item is. A search that a server ran is no call of the client. */
export function calledType({
  type,
  call_id: id,
}: {
  type: string;
  call_id?: unknown;
}): DefinedType | undefined {
  const tool = type.endsWith('_call') ? type.slice(0, -'_call'.length) : '';
  if (tool === 'tool_search' && !id) return undefined;
  return isDefinedType(tool) ? tool : undefined;
}

/** The tool whose result an item is. */
export function resultType({
  type,
  call_id: id,
}: {
  type: string;
  call_id?: unknown;
}): DefinedType | undefined {
  if (type === 'tool_search_output') return id ? 'tool_search' : undefined;
  return type.endsWith('_output') ? calledType({ type: type.slice(0, -'_output'.length) }) : undefined;
}

/** The arguments with which the function would have been called. */
export function definedArguments({
  type,
  action,
  operation,
  arguments: given,
}: Pick<StoredItem, 'type'> &
  Pick<DefinedCallItem, 'action' | 'operation'> & { arguments?: unknown }): string {
  if (type === 'tool_search_call') return typeof given === 'string' ? given : JSON.stringify(given ?? {});
  if (type !== 'local_shell_call') return JSON.stringify(action ?? operation ?? {});
  const { type: _, ...asked } = action ?? {};
  return JSON.stringify(asked);
}

/** What a result tells the model. */
export function definedResult(type: DefinedType, item: StoredItem): string {
  return definedTools[type].said?.(item) ?? (item.output as string);
}

/** The call that a result answers. Some clients of the older shell name it by `id`. */
export function answeredCallId({ call_id: called, id }: StoredItem): string {
  return called ?? id;
}
