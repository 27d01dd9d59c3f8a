import { isObject, parseOrUndefined } from '../../base/fields.ts';
import { ApiError } from '../../core/errors.ts';
import type { ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { type AnswerRule, guaranteedTools } from '../../wire/chat/answer-rule.ts';
import { type AdmittedSchema, type GivenSchema, type Schemas, sourceOf } from '../schemas/schemas.ts';
import { type ExpectedStart, startsAsExpected, isComplete } from './truncated-answer.ts';

/**
 * Rejects with ApiError `schema_not_met` or `tool_not_called` (502) if an answer breaks a guarantee, with `InvalidCall` if the
 * arguments of a call do. A truncated answer passes if it starts as expected.
 */
export type Check = (response: Pick<ChatResponse, 'choices'>) => Promise<void>;

/** A call whose arguments do not fit the parameters of its tool. */
export class InvalidCall extends ApiError {
  readonly tool: string;

  constructor(tool: string, fault: string) {
    super('tool_not_called', `The model called '${tool}' with arguments that ${fault}`);
    this.tool = tool;
  }
}

/**
 * Creates the check of an answer; null for text and for calls that are neither forced nor strict.
 * @param signal of the request: after it aborts, no schema is compiled or applied for it
 * @throws ApiError (422) for a schema over the limits or that cannot be compiled
 */
export async function createCheck(
  request: ChatRequest,
  rule: AnswerRule,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Promise<Check | null> {
  const { tools, content } = await admitAll(request, (given) => schemas.admit(given, orgId, signal));
  const hint = hintOf(request);
  if (rule.kind === 'call') return ofChoices('call', hint, (choice) => checkCalls(choice, rule, tools));
  if (rule.kind === 'text') {
    if (tools.size === 0) return null;
    return ofChoices(null, hint, (choice) => checkCallsOf(choice, tools));
  }
  const checkText = content ? (text: string) => checkJson(text, content) : checkObject;
  return ofChoices(content ? 'json' : 'object', hint, async (choice) => {
    if (choice.message.tool_calls?.length) await checkCallsOf(choice, tools);
    else await checkText(choice.message.content ?? '');
  });
}

type Choice = ChatResponse['choices'][number];
/** Schemas by tool name; null for a tool without parameters, which takes any. */
type ToolSchemas = ReadonlyMap<string, AdmittedSchema | null>;

/** Admits the schemas of the guaranteed tools and of the response format. Other tools go to the engine as they are, if small enough. */
async function admitAll(
  request: ChatRequest,
  admit: (given: readonly GivenSchema[]) => Promise<AdmittedSchema[]>,
) {
  const { tools, response_format: format } = request;
  const guaranteed = guaranteedTools(request);
  const byName = new Map<string, AdmittedSchema | null>([...guaranteed].map((name) => [name, null]));
  const all: GivenSchema[] = [];
  const names: string[] = [];
  for (const [at, { function: each }] of (tools ?? []).entries()) {
    const { name, parameters = null } = each;
    // Some clients send null for a function without parameters.
    if (parameters === null) continue;
    const given = { schema: parameters, where: `tools[${at}].function.parameters` };
    if (guaranteed.has(name)) {
      names.push(name);
      all.push(given);
    } else sourceOf(given);
  }
  if (format?.type === 'json_schema')
    all.push({ schema: format.json_schema.schema ?? true, where: 'response_format.json_schema.schema' });
  const admitted = all.length > 0 ? await admit(all) : [];
  for (const [at, name] of names.entries()) byName.set(name, admitted[at]!);
  return { tools: byName, content: admitted[names.length] ?? null };
}

/**
 * Checks each choice. Refused and filtered answers are skipped: they say so themselves. So are truncated ones
 * (`finish_reason: "length"`) that start as expected, unless they are complete all the same.
 */
function ofChoices(
  expected: ExpectedStart | null,
  hint: Hint,
  check: (choice: Choice) => Promise<void>,
): Check {
  return async ({ choices }) => {
    for (const choice of choices) {
      const { finish_reason: finish, message } = choice;
      const isUnderWay = expected === null || startsAsExpected(message, expected);
      const isTruncated = finish === 'length' && isUnderWay && !isComplete(message);
      if (isTruncated || finish === 'content_filter' || message.refusal) continue;
      await check(choice).catch((error: unknown) => {
        const cause = hint(choice);
        if (cause === null || !isMiss(error)) throw error;
        throw new ApiError(error.code, `${error.message} ${cause}`);
      });
    }
  };
}

function isMiss(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error instanceof InvalidCall) return false;
  return error.code === 'schema_not_met' || error.code === 'tool_not_called';
}

/** Likely reason for a miss, from the end of the answer. */
type Hint = (choice: Choice) => string | null;

function hintOf({ stop }: ChatRequest): Hint {
  return ({ finish_reason: finish, message: { content } }) => {
    if (finish === 'length') return 'The answer was truncated by max_tokens.';
    const isOpen = finish === 'stop' && stop?.length && parseOrUndefined(content ?? '') === undefined;
    return isOpen ? 'A stop sequence of the request may have truncated it.' : null;
  };
}

/** Checks every call, because clients run them all. */
async function checkCalls({ message }: Choice, { names }: AnswerRule, tools: ToolSchemas): Promise<void> {
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
  if (parameters === undefined)
    throw notCalled(`The model called '${name}', which is not a tool of the request.`);
  if (!isObject(parseOrUndefined(args))) throw new InvalidCall(name, 'are not a JSON object.');
  const fault = await parameters?.fault(args);
  if (fault) throw new InvalidCall(name, `do not fit its parameters: ${fault}`);
}

/** Checks calls of guaranteed tools; other calls have no guarantee. */
async function checkCallsOf({ message }: Choice, tools: ToolSchemas): Promise<void> {
  for (const { function: called } of message.tool_calls ?? [])
    if (tools.has(called.name)) await checkArguments(called, tools);
}

async function checkJson(text: string, schema: AdmittedSchema): Promise<void> {
  if (parseOrUndefined(text) === undefined) throw notMet('The answer is not JSON.');
  const fault = await schema.fault(text);
  if (fault) throw notMet(`The answer does not conform to the schema: ${fault}`);
}

async function checkObject(text: string): Promise<void> {
  if (!isObject(parseOrUndefined(text))) throw notMet('The answer is not a JSON object.');
}

const notCalled = (message: string) => new ApiError('tool_not_called', message);
const notMet = (message: string) => new ApiError('schema_not_met', message);
