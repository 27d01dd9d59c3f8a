import { isObject } from '../../../base/fields.ts';
import type { ChatRequest, JsonSchema, Tool } from '../../../wire/chat/chat.ts';
import { guaranteedTools } from '../../../wire/chat/answer-rule.ts';
import { grammarSchema } from '../../schemas/grammar-schema.ts';
import { withoutLookAround } from '../../schemas/look-around.ts';
import { hasRootUnion, objectRoot } from '../../schemas/object-root.ts';
import type { FlavorTraits } from '../flavors/traits.ts';

type Members = Pick<ChatRequest, 'tools' | 'response_format'>;

/**
 * The tools and the response format of a request where a server takes their schemas in another form only. Schemas without a
 * guarantee go on as they came, but for those that no tool of the server may have. Absent members stay as they are, to the byte.
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

/** The schema itself where nothing differs. */
function formOf(schema: JsonSchema, form: FlavorTraits['schemas']): JsonSchema {
  if (form === 'any') return schema;
  if (form === 'no look-around') return withoutLookAround(schema);
  const made = grammarSchema(schema, form.mostRepeats);
  return JSON.stringify(made) === JSON.stringify(schema) ? schema : made;
}

function withParameters(tool: Tool, made: (schema: JsonSchema) => JsonSchema): Tool {
  const { parameters } = tool.function;
  if (!isObject(parameters)) return tool;
  const schema = made(parameters);
  return schema === parameters ? tool : { ...tool, function: { ...tool.function, parameters: schema } };
}

/** A schema with a union at its root cannot be strict in the sense of those who refuse it. */
function folded(tool: Tool): Tool {
  const { parameters } = tool.function;
  if (!hasRootUnion(parameters)) return tool;
  const { strict: _, ...rest } = tool.function;
  return { ...tool, function: { ...rest, parameters: objectRoot(parameters) } };
}
