import { fieldsOf, parseOrUndefined, stringOr } from '../../base/fields.ts';
import type { Tool } from './chat.ts';

/** Tool with free-text input instead of JSON: type `custom` in chat completions and responses. */
export interface FreeTextTool {
  name: string;
  description?: string | null | undefined;
  grammar?: { syntax?: string | null | undefined; definition?: string | null | undefined } | null | undefined;
}

/**
 * Converts the tool to a function with one string. A regular expression becomes the string's pattern; any other grammar only
 * goes into the description, because no engine can enforce it inside JSON.
 */
export function freeTextFunction({ name, description, grammar }: FreeTextTool): Tool['function'] {
  const { syntax, definition } = grammar ?? {};
  const grammarText = definition ? `The input follows this ${syntax ?? ''} grammar:\n${definition}` : '';
  const isRegex = definition && syntax === 'regex';
  const pattern = isRegex && { pattern: `^(?:${definition})$` };
  return {
    name,
    description: [description, grammarText].filter(Boolean).join('\n\n'),
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

/** Arguments of a call of that function. */
export function freeTextArguments(input: string): string {
  return JSON.stringify({ input });
}

/** Free text in the arguments of a call, also of truncated ones; other text is returned unchanged. */
export function readFreeText(json: string): string {
  const value = parseOrUndefined(json);
  if (value !== undefined) return stringOr(fieldsOf(value)['input'], stringOr(value, json));
  const start = /^\s*\{\s*"input"\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/.exec(json)?.[1];
  return start === undefined ? json : stringOr(parseOrUndefined(`"${start}"`), start);
}
