import type { ChatBody } from './body.ts';
import { fromCustom, isCustom, isFunction } from './canonical.ts';

/** A JSON Schema that stands in a request, and where. */
export interface PlacedSchema {
  schema: unknown;
  /** `response_format.json_schema.schema`, `tools[0].function.parameters` ... */
  where: string;
}

/** The schemas of a checked body that an engine would be given. */
export function schemasOf({
  response_format: format,
  tools,
  tool_choice,
  functions,
}: ChatBody): PlacedSchema[] {
  const found: PlacedSchema[] = [];
  const add = (schema: unknown, where: string): void => {
    // Some clients send null for a function without parameters.
    if (schema !== undefined && schema !== null) found.push({ schema, where });
  };
  if (isSchemaFormat(format)) add(format.json_schema.schema, 'response_format.json_schema.schema');
  // Of tools that are not allowed an engine is told nothing.
  const isChosen = typeof tool_choice === 'object' && tool_choice?.type === 'allowed_tools';
  if (!isChosen)
    for (const [at, tool] of (tools ?? []).entries())
      if (isFunction(tool)) add(tool.function.parameters, `tools[${at}].function.parameters`);
      else if (isCustom(tool) && tool.custom.format?.type === 'grammar' && tool.custom.format.grammar)
        add(fromCustom(tool).function.parameters, `tools[${at}].custom.format`);
  for (const [at, { parameters }] of (functions ?? []).entries())
    add(parameters, `functions[${at}].parameters`);
  return found;
}

function isSchemaFormat(format: unknown): format is { json_schema: { schema: unknown } } {
  return (format as { type?: string } | null | undefined)?.type === 'json_schema';
}
