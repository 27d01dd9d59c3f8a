import { Ajv, type ValidateFunction } from 'ajv';
import { RE2JS } from 're2js';
import { ApiError, invalid } from '../core/errors.ts';
import type { ChatRequest, ChatResponse, JsonSchema } from '../wire/chat/chat.ts';
import { checkSchemaBudget } from './schema-gate.ts';

/** What a request was promised beyond text: a schema for the content, or calls of certain tools. */
export interface Promised {
  /** @throws ApiError `schema_not_met` or `tool_not_called` (502) when a complete answer breaks the promise */
  check(response: ChatResponse): void;
}

/** How many compiled schemas are remembered; a batch usually repeats one. */
const cacheSize = 256;
const compiled = new Map<string, ValidateFunction>();

/**
 * What `request` was promised (api.md, section 6), or null when it is plain text.
 * @throws ApiError (422) for a schema over the budget or that cannot be compiled
 */
export function promisedBy(request: ChatRequest): Promised | null {
  const format = request.response_format;
  const choice = request.tool_choice;
  const tools = request.tools ?? [];
  if (typeof choice === 'object' && choice !== null) {
    const name = choice.function.name;
    const at = tools.findIndex((tool) => tool.function.name === name);
    const matches = compile(tools[at]?.function.parameters ?? true, `tools[${at}].function.parameters`);
    return { check: (response) => eachComplete(response, (choice) => checkCall(choice, name, matches)) };
  }
  if (choice === 'required') {
    return { check: (response) => eachComplete(response, (choice) => checkCall(choice, null, null)) };
  }
  if (format?.type === 'json_schema') {
    const matches = compile(format.json_schema.schema ?? true, 'response_format.json_schema.schema');
    return { check: (response) => eachComplete(response, (choice) => checkContent(choice, matches)) };
  }
  return null;
}

type Choice = ChatResponse['choices'][number];

/** An answer cut by the token limit tells so itself (`finish_reason: "length"`) and is not held to the promise. */
function eachComplete(response: ChatResponse, check: (choice: Choice) => void): void {
  for (const choice of response.choices) {
    if (choice.finish_reason !== 'length' && choice.finish_reason !== 'content_filter') check(choice);
  }
}

function checkCall(choice: Choice, name: string | null, matches: ValidateFunction | null): void {
  const calls = choice.message.tool_calls ?? [];
  const call = name === null ? calls[0] : calls.find((each) => each.function.name === name);
  if (!call)
    throw new ApiError(
      'tool_not_called',
      `The model did not call ${name === null ? 'a tool' : `'${name}'`}.`,
    );
  const args = parse(call.function.arguments);
  if (args === undefined)
    throw new ApiError(
      'tool_not_called',
      `The model called '${call.function.name}' with arguments that are not JSON.`,
    );
  if (matches && !matches(args.value))
    throw new ApiError(
      'tool_not_called',
      `The model called '${call.function.name}' with arguments that do not fit its parameters: ${firstError(matches)}`,
    );
}

function checkContent(choice: Choice, matches: ValidateFunction): void {
  if (choice.message.tool_calls?.length) return;
  const content = parse(choice.message.content ?? '');
  if (content === undefined) throw new ApiError('schema_not_met', 'The answer is not JSON.');
  if (!matches(content.value))
    throw new ApiError('schema_not_met', `The answer does not conform to the schema: ${firstError(matches)}`);
}

function firstError(validate: ValidateFunction): string {
  const error = validate.errors?.[0];
  return error ? `${error.instancePath || 'the value'} ${error.message ?? 'does not fit'}` : 'no detail';
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Patterns run on RE2, which cannot be made to backtrack (reliability.md, C14). */
const linear = Object.assign(
  (pattern: string) => {
    const expression = RE2JS.compile(pattern);
    return { test: (text: string) => expression.matcher(text).find() };
  },
  { code: 'linear' },
);

function compile(schema: JsonSchema, where: string): ValidateFunction {
  const key = JSON.stringify(schema);
  const known = compiled.get(key);
  if (known) return known;
  checkSchemaBudget(schema, where);
  let validate: ValidateFunction;
  try {
    // One instance a schema: an instance remembers `$id`s and grows with every schema it compiles.
    const ajv = new Ajv({ strict: false, validateFormats: false, logger: false, code: { regExp: linear } });
    validate = ajv.compile(schema);
  } catch (error) {
    throw invalid(
      where,
      `not a JSON Schema that can be used: ${error instanceof Error ? error.message : 'unknown fault'}`,
    );
  }
  if (compiled.size >= cacheSize) compiled.delete(compiled.keys().next().value ?? '');
  compiled.set(key, validate);
  return validate;
}
