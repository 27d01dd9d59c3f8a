import type { Capabilities } from '../engines/engines.ts';
import type { ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { Promised } from './conformity.ts';
import { type Changes, edited } from './edited.ts';
import { unfenced } from './fences.ts';
import { synthesisOf } from './synthesis.ts';
import { withSystemLine } from './system-line.ts';

/** One way to ask an engine for an answer that keeps the promise. */
export interface Try {
  request: JsonBody<ChatRequest>;
  /** The answer as the client's request wants it. */
  read: (response: ChatResponse) => ChatResponse;
}

export interface TriesParts {
  request: JsonBody<ChatRequest>;
  promised: Pick<Promised, 'kind' | 'calls'>;
  capabilities: Capabilities;
  newCallId: () => string;
}

/** The engine's own means where it has any (`Capabilities`). */
export function firstTry(parts: TriesParts): Try {
  const { request, promised, capabilities } = parts;
  const { jsonSchema, forcedTool } = capabilities;
  if (promised.kind === 'call' && forcedTool === 'none')
    return synthesized(parts, promised.calls.names ?? noNames, null);
  if (promised.kind === 'json' && jsonSchema === 'none') return told(parts, null);
  return { request: edited(request, callChanges(parts)), read: readerOf(promised) };
}

/**
 * The other means, once the first try came to nothing: calls are synthesized, schemas are told to the model. A tool that the
 * model chose to call, but not as its parameters say, is the one to be called now.
 * @param problem why the first answer was not taken
 */
export function secondTry(parts: TriesParts, problem: Problem): Try {
  const { kind, calls } = parts.promised;
  if (kind === 'call') return synthesized(parts, calls.names ?? noNames, problem);
  if (problem.unfitCall !== null) return forced(parts, problem.unfitCall, problem);
  return told(parts, problem);
}

export interface Problem {
  message: string;
  /** The engine refused the request: it may be the response format that it does not know. */
  isRefusal: boolean;
  /** The tool that was called with arguments that do not fit. */
  unfitCall: string | null;
}

const noNames: ReadonlySet<string> = new Set();

/** A call of this tool: from the grammar where the engine has one, else from JSON. */
function forced(parts: TriesParts, name: string, problem: Problem): Try {
  const { request, capabilities } = parts;
  if (capabilities.forcedTool !== 'exact') return synthesized(parts, new Set([name]), problem);
  const changes: Changes = {
    tool_choice: { type: 'function', function: { name } },
    response_format: undefined,
  };
  return { request: edited(request, changes), read: (response) => response };
}

/** @param names of the tools of which one is to be called */
function synthesized(
  { request, capabilities, newCallId }: TriesParts,
  names: ReadonlySet<string>,
  problem: Problem | null,
): Try {
  const { value } = request;
  const tools = (value.tools ?? []).filter(({ function: { name } }) => names.has(name));
  const { format, line, read } = synthesisOf(tools, newCallId);
  const wasSynthesized = capabilities.forcedTool === 'none';
  const isUnknown = capabilities.jsonSchema === 'none' || (wasSynthesized && problem?.isRefusal === true);
  const changes: Changes = {
    ...withoutTools,
    messages: withSystemLine(value.messages, withProblem(line, problem)),
    response_format: isUnknown ? undefined : format,
    // It is meant for text, and would cut the JSON.
    stop: undefined,
    logprobs: undefined,
    top_logprobs: undefined,
  };
  return { request: edited(request, changes), read };
}

/** What is expected as a line of the system, for engines that do not hold it by themselves. */
function told(parts: TriesParts, problem: Problem | null): Try {
  const { request, promised, capabilities } = parts;
  const isUnknown = capabilities.jsonSchema === 'none' || problem?.isRefusal === true;
  const changes: Changes = {
    ...callChanges(parts),
    messages: withSystemLine(request.value.messages, withProblem(expectation(parts), problem)),
    ...(isUnknown && { response_format: undefined }),
  };
  return { request: edited(request, changes), read: readerOf(promised) };
}

function expectation({ request: { value }, promised: { kind, calls } }: TriesParts): string {
  const format = value.response_format;
  if (kind === 'json' && format?.type === 'json_schema')
    return (
      'Answer with one JSON value that conforms to this JSON Schema, and with nothing else:\n' +
      JSON.stringify(format.json_schema.schema ?? {})
    );
  if (kind === 'json') return 'Answer with one JSON object and with nothing else.';
  if (calls.most === 0) return 'Answer without calling a function.';
  return `The only functions that can be called are ${[...(calls.names ?? [])].join(', ')}.`;
}

const withoutTools = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/** What has to differ in the fields about tools so that the engine understands them. */
function callChanges({ request: { value }, promised, capabilities }: TriesParts): Changes {
  const { forcedTool } = capabilities;
  const choice = value.tool_choice;
  if (forcedTool === 'exact') return {};
  // Engines differ in what they make of "none"; without tools none is called.
  if (choice === 'none') return withoutTools;
  if (promised.kind !== 'call') return {};
  // The call is the answer; some engines refuse to be confined twice.
  const changes: Changes = value.response_format ? { response_format: undefined } : {};
  if (forcedTool !== 'filter' || typeof choice !== 'object' || choice === null) return changes;
  const tools = value.tools!.filter((tool) => tool.function.name === choice.function.name);
  return { ...changes, tools, tool_choice: 'required' };
}

/** Models like to write JSON as a code block, which is not what was asked for. */
function readerOf({ kind }: TriesParts['promised']): Try['read'] {
  if (kind !== 'json') return (response) => response;
  return (response) => ({
    ...response,
    choices: response.choices.map((choice) => {
      const { content } = choice.message;
      if (!content?.trimStart().startsWith('```')) return choice;
      return { ...choice, message: { ...choice.message, content: unfenced(content) } };
    }),
  });
}

/** The next answer should not be the same one. */
function withProblem(line: string, problem: Problem | null): string {
  if (!problem || problem.isRefusal) return line;
  return `${line}\nAn answer before this one was not accepted: ${problem.message.slice(0, 500)}`;
}
