import { truncate } from '../../base/truncate.ts';
import type { ApiError } from '../../core/errors.ts';
import type { Capabilities, Engine } from '../../engines/engines.ts';
import type { ChatRequest, ChatResponse, Tool } from '../../wire/chat/chat.ts';
import type { AnswerRule } from '../../wire/chat/answer-rule.ts';
import { type Changes as ChangesOf, editBody } from '../../wire/json/edit-body.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Check } from './check.ts';
import { stripCodeFence } from './code-fence.ts';
import { emulateToolCall } from './emulated-tool-calls.ts';
import { withSystemLine } from './system-line.ts';

/** The engine that is asked, and for what. */
export interface EngineRequest {
  engine: Engine;
  /** The one of which it was found out what is promised. */
  request: JsonBody<ChatRequest>;
  /** Ids for calls that are made of text. */
  newCallId: () => string;
  /** Told why an answer was not taken, before the engine is asked again. */
  onMiss: (problem: ApiError) => void;
}

/** The same with what its answer is held to. */
export interface GuardedRequest extends EngineRequest {
  rule: AnswerRule;
  /** Null where there is nothing to check. */
  check: Check | null;
}

/** Why the answer before was not taken. */
export interface Miss {
  message: string;
  /** The engine refused the request: it may be the response format that it does not know. */
  isRefusal: boolean;
  /** The tool that was called with arguments that do not fit. */
  unfitCall: string | null;
}

/** A request as the engine understands it. */
export interface Attempt {
  request: JsonBody<ChatRequest>;
  /** The answer as the client's request wants it. */
  read: (response: ChatResponse) => ChatResponse;
}

type Changes = ChangesOf<ChatRequest>;
type Strategy = (question: GuardedRequest, problem: Miss | null) => Attempt;

interface Strategies {
  first: Strategy;
  /** Once the first came to nothing. */
  second: Strategy;
}

/** The engine's own means where it has any (`Capabilities`), then others: JSON that a call is made of, or words. */
export function strategiesFor({ rule: { kind }, engine }: GuardedRequest): Strategies {
  return table[kind](engine.capabilities);
}

const table: Record<AnswerRule['kind'], (capabilities: Capabilities) => Strategies> = {
  call: ({ forcedTool }) => ({ first: forcedTool === 'none' ? asJson : natively, second: asJson }),
  json: ({ jsonSchema }) => ({ first: jsonSchema === 'none' ? inWords : natively, second: again }),
  text: () => ({ first: natively, second: again }),
};

/** By the engine's own means. */
function natively(question: GuardedRequest): Attempt {
  return { request: editBody(question.request, callChanges(question)), read: readerOf(question.rule) };
}

/** One of the tools that may be called is called. */
function asJson(question: GuardedRequest, problem: Miss | null): Attempt {
  return callAsJson(question, question.rule.names ?? noNames, problem);
}

/** What is expected as a line of the system, for engines that do not hold it by themselves. */
function inWords(question: GuardedRequest, problem: Miss | null): Attempt {
  const { request, rule, engine } = question;
  const isUnknown = engine.capabilities.jsonSchema === 'none' || problem?.isRefusal === true;
  const changes: Changes = {
    ...callChanges(question),
    messages: withSystemLine(request.value.messages, withProblem(expectation(question), problem)),
    ...(isUnknown && { response_format: undefined }),
  };
  return { request: editBody(request, changes), read: readerOf(rule) };
}

/** In words; but a tool that the model chose to call, and not as its parameters say, is the one to be called now. */
function again(question: GuardedRequest, problem: Miss | null): Attempt {
  const name = problem?.unfitCall ?? null;
  if (name === null) return inWords(question, problem);
  if (question.engine.capabilities.forcedTool !== 'exact')
    return callAsJson(question, new Set([name]), problem);
  const changes: Changes = {
    tool_choice: { type: 'function', function: { name } },
    response_format: undefined,
  };
  return { request: editBody(question.request, changes), read: (response) => response };
}

const noNames: ReadonlySet<string> = new Set();

/** @param names of the tools of which one is to be called */
function callAsJson(
  { request, engine: { capabilities }, newCallId }: GuardedRequest,
  names: ReadonlySet<string>,
  problem: Miss | null,
): Attempt {
  const { value } = request;
  const tools = (value.tools ?? []).filter(({ function: { name } }) => names.has(name));
  const { format, line, read } = emulateToolCall(tools, newCallId);
  const wasAskedSo = capabilities.forcedTool === 'none';
  const isUnknown = capabilities.jsonSchema === 'none' || (wasAskedSo && problem?.isRefusal === true);
  const changes: Changes = {
    ...withoutTools,
    messages: withSystemLine(value.messages, withProblem(line, problem)),
    response_format: isUnknown ? undefined : format,
    // It is meant for text, and would cut the JSON.
    stop: undefined,
    logprobs: undefined,
    top_logprobs: undefined,
  };
  return { request: editBody(request, changes), read };
}

function expectation({ request: { value }, rule: { kind, names, maxCalls: most } }: GuardedRequest): string {
  const format = value.response_format;
  if (kind === 'json' && format?.type === 'json_schema')
    return (
      'Answer with one JSON value that conforms to this JSON Schema, and with nothing else:\n' +
      JSON.stringify(format.json_schema.schema ?? {})
    );
  if (kind === 'json') return 'Answer with one JSON object and with nothing else.';
  if (most === 0) return 'Answer without calling a function.';
  return `The only functions that can be called are ${[...(names ?? [])].join(', ')}.`;
}

const withoutTools = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };

/** What has to differ in the fields about tools so that the engine understands them. */
function callChanges({ request: { value }, rule, engine }: GuardedRequest): Changes {
  const { forcedTool } = engine.capabilities;
  const choice = value.tool_choice;
  if (forcedTool === 'exact') return {};
  // Engines differ in what they make of "none"; without tools none is called.
  if (choice === 'none') return withoutTools;
  if (rule.kind !== 'call') return {};
  // The call is the answer; some engines refuse to be confined twice.
  const changes: Changes = value.response_format ? { response_format: undefined } : {};
  // The parameters of the others may be no schema that its grammars take.
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

/** Models like to write JSON as a code block, which is not what was asked for. */
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

/** The next answer should not be the same one. */
function withProblem(line: string, problem: Miss | null): string {
  if (!problem || problem.isRefusal) return line;
  return `${line}\nAn answer before this one was not accepted: ${truncate(problem.message, 500)}`;
}
