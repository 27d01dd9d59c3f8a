import { string } from '../schema/schema.ts';

/** What models are told of the inputs of tools that a format itself defines, and the client runs. */

export const textInput = (description: string) => string({ description });
export const integerInput = (description: string) => ({ type: 'integer', description });
export type ToolInputs = Record<string, object>;

/** These, and no others. */
export const closedObject = (properties: ToolInputs, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
