import { ApiError } from '../core/errors.ts';
import type { ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import { type CallRule, callRule } from './call-rule.ts';
import { type Beginning, hasBegun } from './cut-answers.ts';
import { isObject } from './schemas/walk.ts';
import type { AdmittedSchema, Schemas } from './schemas/schemas.ts';

/** What a request was promised beyond text (api.md, section 6). */
export interface Promised {
  /** A call of a tool, JSON as the content, or nothing but text. */
  kind: 'call' | 'json' | 'text';
  calls: CallRule;
  /** Whether there is anything to check: nothing is promised of text, nor of calls that are neither forced nor strict. */
  isChecked: boolean;
  /**
   * Rejects with ApiError `schema_not_met` or `tool_not_called` (502) when an answer breaks the promise: a complete one, or
   * one that was cut before it had begun to keep it; with an `UnfitCall` when the arguments of a call do.
   */
  check(response: Pick<ChatResponse, 'choices'>): Promise<void>;
}

/** A call whose arguments do not fit the parameters of its tool. */
export class UnfitCall extends ApiError {
  readonly tool: string;

  constructor(tool: string, fault: string) {
    super('tool_not_called', `The model called '${tool}' with arguments that ${fault}`);
    this.tool = tool;
  }
}

/**
 * What `request` was promised. Every schema in it passes the gate, also that of a tool which need not be called: engines
 * read them all.
 * @param orgId for whom the schemas are compiled and applied
 * @throws ApiError (422) for a schema over the budget or that cannot be compiled
 */
export async function promisedBy(request: ChatRequest, schemas: Schemas, orgId: string): Promise<Promised> {
  const { tools, content } = await admitAll(request, schemas, orgId);
  const calls = callRule(request);
  if (calls.required) return promise('call', calls, (each) => checkCalls(each, calls, tools), 'call');
  const strictNames = namesOfStrict(request);
  const strict = new Map([...tools].filter(([name]) => strictNames.has(name)));
  const format = request.response_format;
  if (format?.type === 'json_object')
    return promise('json', calls, (each) => checkObject(each, strict), 'object');
  if (!content) return promise('text', calls, strict.size > 0 && ((each) => checkStrictCalls(each, strict)));
  return promise('json', calls, (each) => checkContent(each, content, strict), 'json');
}

/** A tool with `strict` is called as its parameters say, whoever decides that it is called. */
function namesOfStrict({ tools }: ChatRequest): ReadonlySet<string> {
  const strict = (tools ?? []).filter(({ function: each }) => each.strict === true);
  return new Set(strict.map(({ function: { name } }) => name));
}

type Choice = ChatResponse['choices'][number];
/** By name; null for a tool without parameters, which takes any. */
type ToolSchemas = ReadonlyMap<string, AdmittedSchema | null>;

interface Admitted {
  tools: ToolSchemas;
  /** That of the response format, if it has one. */
  content: AdmittedSchema | null;
}

async function admitAll(request: ChatRequest, schemas: Schemas, orgId: string): Promise<Admitted> {
  const { tools: given, response_format: format } = request;
  const tools = (given ?? []).map(({ function: { name, parameters } }, at) => ({
    name,
    // Some clients send null for a function without parameters.
    schema: parameters ?? null,
    where: `tools[${at}].function.parameters`,
  }));
  const formats =
    format?.type === 'json_schema'
      ? [{ schema: format.json_schema.schema ?? true, where: 'response_format.json_schema.schema' }]
      : [];
  const taking = tools.filter(({ schema }) => schema !== null);
  const all = [...taking, ...formats];
  const admitted = all.length > 0 ? await schemas.admit(all, orgId) : [];
  const byName = new Map<string, AdmittedSchema | null>(tools.map(({ name }) => [name, null]));
  for (const [at, { name }] of taking.entries()) byName.set(name, admitted[at]!);
  return { tools: byName, content: admitted[taking.length] ?? null };
}

/**
 * An answer that was refused or filtered tells so itself, and is not held to the promise. Neither is one that the token limit
 * cut (`finish_reason: "length"`) where the call or the JSON was under way: one that talks instead is checked like any other.
 */
function promise(
  kind: Promised['kind'],
  calls: CallRule,
  check: ((choice: Choice) => Promise<void>) | false,
  beginning: Beginning | null = null,
): Promised {
  return {
    kind,
    calls,
    isChecked: check !== false,
    async check(response) {
      if (!check) return;
      for (const choice of response.choices) {
        const { finish_reason: finish, message } = choice;
        const wasCut = finish === 'length' && (beginning === null || hasBegun(message, beginning));
        if (!wasCut && finish !== 'content_filter' && !message.refusal) await check(choice);
      }
    },
  };
}

/** Every call must fit: a client runs them all. */
async function checkCalls({ message }: Choice, { names }: CallRule, tools: ToolSchemas): Promise<void> {
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) {
    const [name] = names?.size === 1 ? names : [];
    throw notCalled(`The model did not call ${name === undefined ? 'a tool' : `'${name}'`}.`);
  }
  for (const { function: called } of calls) await checkArguments(called, tools);
}

async function checkArguments(
  { name, arguments: args }: { name: string; arguments: string },
  tools: ToolSchemas,
): Promise<void> {
  const parameters = tools.get(name);
  if (parameters === undefined) throw notCalled(`The model called '${name}', and there is no such tool.`);
  if (!isObject(parsed(args))) throw new UnfitCall(name, 'are not a JSON object.');
  const fault = await parameters?.fault(args);
  if (fault) throw new UnfitCall(name, `do not fit its parameters: ${fault}`);
}

async function checkStrictCalls({ message }: Choice, strict: ToolSchemas): Promise<void> {
  for (const { function: called } of message.tool_calls ?? [])
    if (strict.has(called.name)) await checkArguments(called, strict);
}

async function checkContent(choice: Choice, schema: AdmittedSchema, strict: ToolSchemas): Promise<void> {
  const { tool_calls: calls, content: given } = choice.message;
  if (calls?.length) return checkStrictCalls(choice, strict);
  const content = given ?? '';
  if (parsed(content) === undefined) throw notMet('The answer is not JSON.');
  const fault = await schema.fault(content);
  if (fault) throw notMet(`The answer does not conform to the schema: ${fault}`);
}

async function checkObject(choice: Choice, strict: ToolSchemas): Promise<void> {
  const { tool_calls: calls, content } = choice.message;
  if (calls?.length) return checkStrictCalls(choice, strict);
  if (!isObject(parsed(content ?? ''))) throw notMet('The answer is not a JSON object.');
}

const notCalled = (message: string) => new ApiError('tool_not_called', message);
const notMet = (message: string) => new ApiError('schema_not_met', message);

/** The value of a JSON text; undefined when it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
