import { isObject } from '../../../base/fields.ts';
import type { ChatRequest, JsonSchema, Tool } from '../../../wire/chat/chat.ts';
import { guaranteedTools } from '../../../wire/chat/answer-rule.ts';
import { grammarSchema } from '../../schemas/grammar-schema.ts';
import { withoutLookAround } from '../../schemas/look-around.ts';
import { hasRootUnion, objectRoot } from '../../schemas/object-root.ts';
import type { FlavorTraits } from '../flavors/traits.ts';

type Members = Pick<ChatRequest, 'tools' | 'response_format'>;

/**
 * Tools and response format whose schemas the server needs in another form. Schemas without a guarantee are unchanged, except
 * unions that the server refuses at the root. Members that need no change are absent from the result.
 */
export function sentSchemas(
  request: ChatRequest,
  { schemas, rootUnions }: Pick<FlavorTraits, 'schemas' | 'rootUnions'>,
): Members {
  const { tools, response_format: format } = request;
  const changed: Members = {};
  const made = (schema: JsonSchema) => formOf(schema, schemas);
  if (format?.type === 'json_schema' && format.json_schema.schema !== undefined) {
    const schema = made(format.json_schema.schema);
    if (schema !== format.json_schema.schema)
      changed.response_format = { ...format, json_schema: { ...format.json_schema, schema } };
  }
  if (!tools?.length) return changed;
  const guaranteed = guaranteedTools(request);
  const sent = tools.map((tool) => {
    const one = guaranteed.has(tool.function.name) ? withParameters(tool, made) : tool;
    return rootUnions === 'refused' ? folded(one) : one;
  });
  if (sent.some((tool, at) => tool !== tools[at])) changed.tools = sent;
  return changed;
}

/** Converts a schema to the server's form; the same object where nothing differs. */
function formOf(schema: JsonSchema, form: FlavorTraits['schemas']): JsonSchema {
  if (form === 'any') return schema;
  if (form === 'no look-around') return withoutLookAround(schema);
  const made = grammarSchema(schema, form.maxRepeats);
  return JSON.stringify(made) === JSON.stringify(schema) ? schema : made;
}

function withParameters(tool: Tool, made: (schema: JsonSchema) => JsonSchema): Tool {
  const { parameters } = tool.function;
  if (!isObject(parameters)) return tool;
  const schema = made(parameters);
  return schema === parameters ? tool : { ...tool, function: { ...tool.function, parameters: schema } };
}

/** Rewrites a union at the root. A server that refuses such unions cannot enforce them strictly, so `strict` goes. */
function folded(tool: Tool): Tool {
  const { parameters } = tool.function;
  if (!hasRootUnion(parameters)) return tool;
  const { strict: _, ...rest } = tool.function;
  return { ...tool, function: { ...rest, parameters: objectRoot(parameters) } };
}
