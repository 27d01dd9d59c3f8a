import { chatLimits, functionFields } from '../../chat/request/request-schema.ts';
import {
  array,
  definedName,
  type Fields,
  fields,
  ifThen,
  object,
  oneOfOrNull,
  orNull,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';

const format = object({
  'type?': oneOfOrNull(['text', 'grammar']),
  'syntax?': oneOfOrNull(['lark', 'regex']),
  'definition?': stringOrNull(),
});

/** Functions, and what names one, come flat, or nested as on chat completions. */
const isNested = { required: ['function'], not: { properties: { function: { type: 'null' } } } };
export const flatOrNested = (given: Fields) =>
  ifThen(isNested, fields({ function: object(given) }), fields(given));

const kinds = [
  when('type', 'function', {}, flatOrNested(functionFields)),
  when('type', 'custom', { name: definedName, 'description?': stringOrNull(), 'format?': orNull(format) }),
];

/** Tools, strict about those that the client runs; others pass, and are passed over. */
const type = string({ minLength: 1 });

const namespace = {
  name: string({ minLength: 1, maxLength: 128 }),
  'description?': stringOrNull(),
  tools: array(object({ type }, { allOf: kinds }), { maxItems: chatLimits.tools }),
};

export const toolSchema = object({ type }, { allOf: [...kinds, when('type', 'namespace', namespace)] });
