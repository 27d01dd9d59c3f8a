import type { ChatBody } from './body.ts';
import { customTool, isCustom, isFunction } from './canonical.ts';

/** A JSON Schema that stands in a request, and where. */
export interface PlacedSchema {
  schema: unknown;
  /** `response_format.json_schema.schema`, `tools[0].function.parameters` ... */
  where: string;
}

/** The schemas of a checked body that its answer has to conform to (`guaranteedTools`). */
export function guaranteedSchemas({
  response_format: format,
  tools,
  tool_choice: choice,
  functions,
  function_call: functionChoice,
}: ChatBody): PlacedSchema[] {
  const found: PlacedSchema[] = [];
  const add = (schema: unknown, where: string): void => {
    // Some clients send null for a function without parameters.
    if (schema !== undefined && schema !== null) found.push({ schema, where });
  };
  if (isSchemaFormat(format)) add(format.json_schema.schema, 'response_format.json_schema.schema');
  const isGuaranteed = guaranteeOf(functions ? functionChoice : choice);
  // Of tools that are not allowed an engine is told nothing.
  const isChosen = typeof choice === 'object' && choice?.type === 'allowed_tools';
  if (!isChosen)
    for (const [at, tool] of (tools ?? []).entries()) {
      const made = isCustom(tool) ? customTool(tool) : isFunction(tool) ? tool : null;
      if (made && isGuaranteed(made.function))
        add(
          made.function.parameters,
          `tools[${at}].${isCustom(tool) ? 'custom.format' : 'function.parameters'}`,
        );
    }
  for (const [at, each] of (functions ?? []).entries())
    if (isGuaranteed(each)) add(each.parameters, `functions[${at}].parameters`);
  return found;
}

/** A predicate, from the choice in a body, for functions whose calls have to conform to their parameters. */
function guaranteeOf(choice: ChatBody['tool_choice'] | ChatBody['function_call']) {
  const { name, function: own, custom }: Named = typeof choice === 'object' && choice ? choice : {};
  const named = name ?? own?.name ?? custom?.name;
  return (given: { name: string; strict?: boolean | null }): boolean => {
    if (named !== undefined) return given.name === named;
    return choice === 'required' || (choice !== 'none' && given.strict === true);
  };
}

/** A choice that may name a function. */
interface Named {
  type?: string;
  name?: string;
  function?: { name: string };
  custom?: { name: string };
}

function isSchemaFormat(format: unknown): format is { json_schema: { schema: unknown } } {
  return (format as { type?: string } | null | undefined)?.type === 'json_schema';
}
