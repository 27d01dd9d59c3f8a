import type { Schema } from './json-schema.ts';

/**
 * Building blocks of the wire schemas. They are plain JSON Schema 2020-12, so that one object is
 * the validator's input, the OpenAPI document's content and the documentation's source.
 */
interface Note {
  description?: string;
  /** What a fault's sentence says was expected; see `explain.ts`. */
  expected?: string;
}

interface Range extends Note {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

interface TextRule extends Note {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/** SDKs send `null` for "not set", so optional fields take it. */
export const integerOrNull = (range: Range = {}) => ({ type: ['integer', 'null'], ...range });
export const numberOrNull = (range: Range = {}) => ({ type: ['number', 'null'], ...range });
export const stringOrNull = (rule: TextRule = {}) => ({ type: ['string', 'null'], ...rule });
export const booleanOrNull = (note: Note = {}) => ({ type: ['boolean', 'null'], ...note });

export const string = (rule: TextRule = {}) => ({ type: 'string', ...rule });

/** One of a few strings, as `enum`: a union of constants has useless faults. */
export const oneOf = (values: readonly string[], note: Note = {}) => ({
  type: 'string',
  enum: [...values],
  ...note,
});
export const oneOfOrNull = (values: readonly string[], note: Note = {}) => ({
  type: ['string', 'null'],
  enum: [...values, null],
  ...note,
});

/** A schema given as it stands. */
export const raw = (schema: Record<string, unknown>): Schema => schema;

/** What holds when `condition` does: the union whose faults keep their path. */
export function ifThen(condition: object, consequence: object, otherwise?: object): object {
  return { if: condition, then: consequence, ...(otherwise && { else: otherwise }) };
}

/** What `schema` adds when the property `name` has this value, or one of these. */
export function when(name: string, value: string | readonly string[], schema: object): object {
  const is = typeof value === 'string' ? { const: value } : { enum: value };
  return ifThen({ properties: { [name]: is }, required: [name] }, schema);
}

/** Of a field that is null elsewhere: here it is none, and of this JSON type. */
export const needs = (name: string, type: string) => ({ required: [name], properties: { [name]: { type } } });

/** What `schema` takes, or null. */
export const orNull = (schema: { type: string }) => ({ ...schema, type: [schema.type, 'null'] });

/** An object or array that may be null. */
export const nullable = (type: 'object' | 'array', rule: Record<string, unknown> = {}) => ({
  type: [type, 'null'],
  ...rule,
});

/** Any JSON object. */
export const anyObject = (note: Note = {}) => ({ type: 'object', ...note });

/** Content in the request itself. Base64 has no colon, an address has one near its beginning. */
export const base64 = string({
  pattern: '^(data:|[^:]{64}|[^:]*$)',
  expected: 'a data: URL or base64, because nothing is fetched for a caller',
});

/** Audio of a message, as the official service takes it. */
export const inputAudio = { type: 'object', properties: { data: orNull(base64) } };

/** Names of functions, tools and schemas. */
export const namePattern = '^[a-zA-Z0-9_-]{1,64}$';
export const nameRule = { pattern: namePattern, expected: '1 to 64 letters, digits, _ or -' };

/** What people call a thing. Postgres keeps no NUL, and a terminal should be told nothing. */
export const titleRule = {
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  expected: 'up to 200 characters, without control characters',
};

/** What may be noted of a thing: 16 texts of 512 characters, with names of 64. */
export const metadataSchema = raw({
  type: ['object', 'null'],
  maxProperties: 16,
  propertyNames: { maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: 512 },
});
