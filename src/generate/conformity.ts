import { ApiError } from '../core/errors.ts';
import type { ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type { AdmittedSchema, Schemas } from './schemas.ts';

/** What a request was promised beyond text: a schema for the content, or calls of certain tools. */
export interface Promised {
  /** Rejects with ApiError `schema_not_met` or `tool_not_called` (502) when a complete answer breaks the promise. */
  check(response: ChatResponse): Promise<void>;
}

/**
 * What `request` was promised (api.md, section 6), or null when it is plain text. Every schema in it passes the gate, also
 * that of a tool which need not be called: engines read them all.
 * @throws ApiError (422) for a schema over the budget or that cannot be compiled
 */
export async function promisedBy(request: ChatRequest, schemas: Schemas): Promise<Promised | null> {
  const tools = request.tools?.length ? await admitTools(request, schemas) : new Map();
  const choice = request.tool_choice;
  if (typeof choice === 'object' && choice !== null)
    return promise((each) => checkCall(each, choice.function.name, tools));
  if (choice === 'required') return promise((each) => checkCall(each, null, tools));
  const format = request.response_format;
  if (format?.type !== 'json_schema') return null;
  const where = 'response_format.json_schema.schema';
  const schema = await schemas.admit(format.json_schema.schema ?? true, where);
  return promise((each) => checkContent(each, schema));
}

type Choice = ChatResponse['choices'][number];
/** By name; null for a tool without parameters, which takes any. */
type ToolSchemas = ReadonlyMap<string, AdmittedSchema | null>;

async function admitTools(request: ChatRequest, schemas: Schemas): Promise<ToolSchemas> {
  const admitted = (request.tools ?? []).map(async ({ function: { name, parameters } }, at) => {
    // Some clients send null for a function without parameters.
    const schema = parameters ?? null;
    if (schema === null) return [name, null] as const;
    return [name, await schemas.admit(schema, `tools[${at}].function.parameters`)] as const;
  });
  return new Map(await Promise.all(admitted));
}

/** An answer cut by the token limit tells so itself (`finish_reason: "length"`) and is not held to the promise. */
function promise(check: (choice: Choice) => Promise<void>): Promised {
  return {
    async check(response) {
      for (const choice of response.choices) {
        if (choice.finish_reason !== 'length' && choice.finish_reason !== 'content_filter')
          await check(choice);
      }
    },
  };
}

async function checkCall(choice: Choice, name: string | null, tools: ToolSchemas): Promise<void> {
  const calls = choice.message.tool_calls ?? [];
  const call = name === null ? calls[0] : calls.find((each) => each.function.name === name);
  if (!call)
    throw new ApiError(
      'tool_not_called',
      `The model did not call ${name === null ? 'a tool' : `'${name}'`}.`,
    );
  const { name: called, arguments: args } = call.function;
  const parameters = tools.get(called);
  if (parameters === undefined)
    throw new ApiError('tool_not_called', `The model called '${called}', and there is no such tool.`);
  if (!isJson(args))
    throw new ApiError('tool_not_called', `The model called '${called}' with arguments that are not JSON.`);
  const fault = await parameters?.fault(args);
  if (fault)
    throw new ApiError(
      'tool_not_called',
      `The model called '${called}' with arguments that do not fit its parameters: ${fault}`,
    );
}

async function checkContent(choice: Choice, schema: AdmittedSchema): Promise<void> {
  if (choice.message.tool_calls?.length) return;
  const content = choice.message.content ?? '';
  if (!isJson(content)) throw new ApiError('schema_not_met', 'The answer is not JSON.');
  const fault = await schema.fault(content);
  if (fault) throw new ApiError('schema_not_met', `The answer does not conform to the schema: ${fault}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
