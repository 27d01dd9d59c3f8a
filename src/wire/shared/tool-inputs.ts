import { string } from '../schema/schema.ts';

/** JSON Schemas for the inputs of tools that a format defines and the client runs. */

export const textInput = (description: string) => string({ description });
export const integerInput = (description: string) => ({ type: 'integer', description });
export type ToolInputs = Record<string, object>;

/** Object that allows no other properties. */
export const closedObject = (properties: ToolInputs, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
