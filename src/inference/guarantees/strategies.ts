import { truncate } from '../../base/truncate.ts';
import type { ApiError } from '../../core/errors.ts';
import type { Capabilities, Engine } from '../../engines/engines.ts';
import type { ChatMessage, ChatRequest, ChatResponse, Tool } from '../../wire/chat/chat.ts';
import type { AnswerRule } from '../../wire/chat/answer-rule.ts';
import { type Changes as ChangesOf, editBody } from '../../wire/json/edit-body.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Check } from './check.ts';
import { stripCodeFence } from './code-fence.ts';
import { emulateToolCall } from './emulated-tool-calls.ts';

export interface EngineRequest {
  engine: Engine;
  /** The request that the guarantee was created for. */
  request: JsonBody<ChatRequest>;
  /** Creates ids of emulated calls. */
  newCallId: () => string;
  /** Called with the reason before a request is sent again. */
  onMiss: (error: ApiError) => void;
}

export interface GuardedRequest extends EngineRequest {
  rule: AnswerRule;
  /** Null if the answer need not be checked. */
  check: Check | null;
}

/** Reason why the first answer was not accepted. */
export interface Miss {
  message: string;
  /** True if the engine rejected the request, perhaps for its response format. */
  isRefusal: boolean;
  /** Name of the tool that was called with invalid arguments. */
  invalidCall: string | null;
}

/** A request in a form that the engine supports. */
export interface Attempt {
  request: JsonBody<ChatRequest>;
  /** Converts the answer to the form of the client's request. */
  read: (response: ChatResponse) => ChatResponse;
}

type Changes = ChangesOf<ChatRequest>;
type Strategy = (guarded: GuardedRequest, miss: Miss | null) => Attempt;

interface Strategies {
  first: Strategy;
  /** Used after a miss of the first. */
  second: Strategy;
}

/** Prefers the engine's own means (`Capabilities`) to emulated calls and to instructions in words. */
export function strategiesFor({ rule: { kind }, engine }: GuardedRequest): Strategies {
  return table[kind](engine.capabilities);
}

const table: Record<AnswerRule['kind'], (capabilities: Capabilities) => Strategies> = {
  call: ({ forcedTool }) => ({ first: forcedTool === 'none' ? emulated : natively, second: emulated }),
  json: ({ jsonSchema }) => ({ first: jsonSchema === 'none' ? inWords : natively, second: again }),
  text: () => ({ first: natively, second: again }),
};

/** Uses the engine's own means. */
function natively(guarded: GuardedRequest): Attempt {
  return { request: editBody(guarded.request, callChanges(guarded)), read: readerOf(guarded.rule) };
}

/** Emulates a call of an allowed tool. */
function emulated(guarded: GuardedRequest, miss: Miss | null): Attempt {
  return emulate(guarded, guarded.rule.names ?? new Set(), miss);
}

/** Describes the format in the system message. */
function inWords(guarded: GuardedRequest, miss: Miss | null): Attempt {
  const { request, rule, engine } = guarded;
  const isUnsupported = engine.capabilities.jsonSchema === 'none' || miss?.isRefusal === true;
  const changes: Changes = {
    ...callChanges(guarded),
    messages: withSystemLine(request.value.messages, withMiss(expectation(guarded), miss)),
    ...(isUnsupported && { response_format: undefined }),
  };
  return { request: editBody(request, changes), read: readerOf(rule) };
}

/** Describes the format in words; but if the model called a tool with invalid arguments, forces that tool. */
function again(guarded: GuardedRequest, miss: Miss | null): Attempt {
  const name = miss?.invalidCall ?? null;
  if (name === null) return inWords(guarded, miss);
  if (guarded.engine.capabilities.forcedTool !== 'exact') return emulate(guarded, new Set([name]), miss);
  const changes: Changes = {
    tool_choice: { type: 'function', function: { name } },
    response_format: undefined,
  };
  return { request: editBody(guarded.request, changes), read: (response) => response };
}

/** @param names of tools, of which one must be called */
function emulate(
  { request, engine: { capabilities }, newCallId }: GuardedRequest,
  names: ReadonlySet<string>,
  miss: Miss | null,
): Attempt {
  const { value } = request;
  const tools = (value.tools ?? []).filter(({ function: { name } }) => names.has(name));
  const { format, line, read } = emulateToolCall(tools, newCallId);
  const wasEmulated = capabilities.forcedTool === 'none';
  const isUnsupported = capabilities.jsonSchema === 'none' || (wasEmulated && miss?.isRefusal === true);
  const changes: Changes = {
    ...withoutTools,
    messages: withSystemLine(value.messages, withMiss(line, miss)),
    response_format: isUnsupported ? undefined : format,
    // Stop sequences are meant for text, and could truncate the JSON.
    stop: undefined,
    logprobs: undefined,
    top_logprobs: undefined,
  };
  return { request: editBody(request, changes), read };
}

function expectation({ request: { value }, rule: { kind, names, maxCalls } }: GuardedRequest): string {
  const format = value.response_format;
  if (kind === 'json' && format?.type === 'json_schema')
    return (
      'Answer with one JSON value that conforms to this JSON Schema, and with nothing else:\n' +
      JSON.stringify(format.json_schema.schema ?? {})
    );
  if (kind === 'json') return 'Answer with one JSON object and with nothing else.';
  if (maxCalls === 0) return 'Answer without calling a function.';
  return `The only functions that can be called are ${[...(names ?? [])].join(', ')}.`;
}

const withoutTools = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/** Changes to the tool fields that the engine needs. */
function callChanges({ request: { value }, rule, engine }: GuardedRequest): Changes {
  const { forcedTool } = engine.capabilities;
  const choice = value.tool_choice;
  if (forcedTool === 'exact') return {};
  // Engines interpret "none" differently; without tools, none is called.
  if (choice === 'none') return withoutTools;
  if (rule.kind !== 'call') return {};
  // The answer is a call, and some engines reject two constraints.
  const changes: Changes = value.response_format ? { response_format: undefined } : {};
  // Only forced tools become strict: the engine's grammars may not support the schemas of the others.
  if (forcedTool === 'strict')
    return {
      ...changes,
      tools: value.tools!.map((tool) => (rule.names!.has(tool.function.name) ? strictly(tool) : tool)),
    };
  if (forcedTool !== 'filter' || typeof choice !== 'object' || choice === null) return changes;
  const tools = value.tools!.filter((tool) => tool.function.name === choice.function.name);
  return { ...changes, tools, tool_choice: 'required' };
}

function strictly(tool: Tool): Tool {
  return { ...tool, function: { ...tool.function, strict: true } };
}

/** Strips the code fence in which some models wrap JSON. */
function readerOf({ kind }: AnswerRule): Attempt['read'] {
  if (kind !== 'json') return (response) => response;
  return (response) => ({
    ...response,
    choices: response.choices.map((choice) => {
      const { content } = choice.message;
      if (!content?.trimStart().startsWith('```')) return choice;
      return { ...choice, message: { ...choice.message, content: stripCodeFence(content) } };
    }),
  });
}

/** Tells the model why its first answer was rejected, so that it does not repeat it. */
function withMiss(line: string, miss: Miss | null): string {
  if (!miss || miss.isRefusal) return line;
  return `${line}\nAn answer before this one was not accepted: ${truncate(miss.message, 500)}`;
}

/** Appends `line` to the first system message, because many chat templates take only one, at the start. */
export function withSystemLine(messages: readonly ChatMessage[], line: string): ChatMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system' && first?.role !== 'developer')
    return [{ role: 'system', content: line }, ...messages];
  const { content } = first;
  const longer = Array.isArray(content)
    ? [...content, { type: 'text', text: `\n\n${line}` }]
    : [content ?? '', line].filter((text) => text !== '').join('\n\n');
  return [{ ...first, content: longer }, ...rest];
}
