import { fieldsOf } from '../../../base/fields.ts';
import type { ChatBody } from './body.ts';
import { customTool, isCustom, isFunction } from './canonical.ts';

/** JSON Schema in a request. */
export interface PlacedSchema {
  schema: unknown;
  /** `response_format.json_schema.schema`, `tools[0].function.parameters` ... */
  where: string;
}

/** Schemas of a checked body that the answer must conform to; see `guaranteedTools`. */
export function guaranteedSchemas({
  response_format: format,
  tools,
  tool_choice: choice,
  functions,
  function_call: functionChoice,
}: ChatBody): PlacedSchema[] {
  const found: PlacedSchema[] = [];
  const add = (schema: unknown, where: string): void => {
    // Some clients send null parameters.
    if (schema !== undefined && schema !== null) found.push({ schema, where });
  };
  const { type, json_schema: named } = fieldsOf(format);
  if (type === 'json_schema') add(fieldsOf(named)['schema'], 'response_format.json_schema.schema');
  const isGuaranteed = guaranteeOf(functions ? functionChoice : choice);
  // Tools that are not allowed never reach the engine.
  const isChosen = typeof choice === 'object' && choice?.type === 'allowed_tools';
  if (!isChosen)
    for (const [at, tool] of (tools ?? []).entries()) {
      const converted = isCustom(tool) ? customTool(tool) : isFunction(tool) ? tool : null;
      if (converted && isGuaranteed(converted.function))
        add(
          converted.function.parameters,
          `tools[${at}].${isCustom(tool) ? 'custom.format' : 'function.parameters'}`,
        );
    }
  for (const [at, each] of (functions ?? []).entries())
    if (isGuaranteed(each)) add(each.parameters, `functions[${at}].parameters`);
  return found;
}

/** Returns a predicate for functions whose calls must conform to their parameters. */
function guaranteeOf(choice: ChatBody['tool_choice'] | ChatBody['function_call']) {
  const { name, function: called, custom }: NamingChoice = typeof choice === 'object' && choice ? choice : {};
  const named = name ?? called?.name ?? custom?.name;
  return (given: { name: string; strict?: boolean | null }): boolean => {
    if (named !== undefined) return given.name === named;
    return choice === 'required' || (choice !== 'none' && given.strict === true);
  };
}

interface NamingChoice {
  type?: string;
  name?: string;
  function?: { name: string };
  custom?: { name: string };
}
