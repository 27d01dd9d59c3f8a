import { describe } from '../schema/explain.ts';
import type { AddFault } from '../schema/validate.ts';

/** One or several texts, as strings or as token ids. */
export type TextInputs = string | string[] | number[] | number[][];

export interface TextInput {
  input: string | readonly number[];
  /** `prompt`, `prompt[2]`. */
  param: string;
}

export const textInputsSchema = (description: string) => ({
  type: ['string', 'array'],
  description,
  expected: 'a string, an array of strings, an array of token ids or an array of such arrays',
  minLength: 1,
  minItems: 1,
  items: {
    type: ['string', 'integer', 'array'],
    expected: 'a string, a token id or an array of token ids',
    minLength: 1,
    minimum: 0,
    minItems: 1,
    items: { type: 'integer', minimum: 0 },
  },
});

/** Checks that all inputs are of one kind and at most `max` texts, which the schema cannot express. */
export function checkTextInputs(param: string, inputs: TextInputs, max: number, add: AddFault): void {
  if (typeof inputs === 'string') return;
  const kind = kindOf(inputs[0]);
  const odd = (inputs as unknown[]).findIndex((item) => kindOf(item) !== kind);
  if (odd >= 0)
    add(`${param}[${odd}]`, `expected ${kind} like the items before it, got ${describe(inputs[odd])}`);
  else if (kind !== 'a token id' && inputs.length > max)
    add(param, `expected at most ${max} items, got ${inputs.length}`);
}

function kindOf(item: unknown): string {
  if (typeof item === 'string') return 'a string';
  return typeof item === 'number' ? 'a token id' : 'an array of token ids';
}

export function splitTextInputs(param: string, inputs: TextInputs): TextInput[] {
  if (typeof inputs === 'string') return [{ input: inputs, param }];
  if (typeof inputs[0] === 'number') return [{ input: inputs as number[], param }];
  return (inputs as (string | number[])[]).map((input, at) => ({ input, param: `${param}[${at}]` }));
}
