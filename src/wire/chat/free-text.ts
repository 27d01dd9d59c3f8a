import { fieldsOf, parseOrUndefined, stringOr } from '../../base/fields.ts';
import type { Tool } from './chat.ts';

/** A tool that takes free text instead of JSON: `custom` in chat and in responses. */
export interface FreeTextTool {
  name: string;
  description?: string | null | undefined;
  /** What every input is to be written in. */
  grammar?: { syntax?: string | null | undefined; definition?: string | null | undefined } | null | undefined;
}

/**
 * The same as a function with one string. A regular expression holds for that string, whoever answers; a grammar of another
 * kind is told in words, since no engine holds it inside of JSON.
 */
export function freeTextFunction({ name, description, grammar }: FreeTextTool): Tool['function'] {
  const { syntax, definition } = grammar ?? {};
  const told = definition ? `The input follows this ${syntax ?? ''} grammar:\n${definition}` : '';
  const isRegex = definition && syntax === 'regex';
  const pattern = isRegex && { pattern: `^(?:${definition})$` };
  return {
    name,
    description: [description, told].filter(Boolean).join('\n\n'),
    parameters: {
      type: 'object',
      properties: {
        input: { type: 'string', description: 'All that the tool is given, as plain text.', ...pattern },
      },
      required: ['input'],
      additionalProperties: false,
    },
    ...(isRegex && { strict: true }),
  };
}

/** The arguments of a call of that function. */
export function freeTextArguments(input: string): string {
  return JSON.stringify({ input });
}

/** The free text in the arguments of a call, as far as it came; text that is no such object is taken as it is. */
export function readFreeText(json: string): string {
  const value = parseOrUndefined(json);
  if (value !== undefined) return stringOr(fieldsOf(value)['input'], stringOr(value, json));
  const begun = /^\s*\{\s*"input"\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/.exec(json)?.[1];
  return begun === undefined ? json : stringOr(parseOrUndefined(`"${begun}"`), begun);
}
