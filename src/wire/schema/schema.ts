/**
 * JSON Schema 2020-12 as a plain object: input of the validator and content of the OpenAPI document. A library for this
 * would cost a fifth of the start-up time.
 */
export type Schema = object;

/** Fields of an object by name; `name?` is optional. */
export type Fields = Readonly<Record<string, Schema>>;

interface Note {
  description?: string;
  /** Description of valid values in error messages; see `explain.ts`. */
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
  format?: string;
}

export const string = (rule: TextRule = {}) => ({ type: 'string', ...rule });
export const integer = (range: Range = {}) => ({ type: 'integer', ...range });
export const number = (range: Range = {}) => ({ type: 'number', ...range });
export const boolean = (note: Note = {}) => ({ type: 'boolean', ...note });
export const array = (items: Schema, rule: object = {}) => ({ type: 'array', items, ...rule });
export const object = (given: Fields, rule: object = {}) => ({ type: 'object', ...fields(given), ...rule });

/** Key of the names of fields that an object may have and that no rule is about. No JSON has it, nor the OpenAPI document. */
export const alsoKnown = Symbol('alsoKnown');

/** Names fields that an object may have, besides those with a rule; others are reported as unknown. */
export const known = (...lists: readonly string[]) => ({
  [alsoKnown]: lists.flatMap((names) => names.trim().split(/\s+/)),
});

export const anyObject = (note: Note = {}) => ({ type: 'object', ...note });

export const literal = (value: string | boolean) => ({ type: typeof value, const: value });

/** One of a few strings, as `enum`: a union of constants would give useless errors. */
export const oneOf = (values: readonly string[], note: Note = {}) => ({
  type: 'string',
  enum: [...values],
  ...note,
});

/** `schema` or null: SDKs send `null` for "not set", so optional fields accept it. */
export const orNull = <T extends { type: string }>(schema: T) => ({ ...schema, type: [schema.type, 'null'] });
export const integerOrNull = (range: Range = {}) => orNull(integer(range));
export const numberOrNull = (range: Range = {}) => orNull(number(range));
export const stringOrNull = (rule: TextRule = {}) => orNull(string(rule));
export const booleanOrNull = (note: Note = {}) => orNull(boolean(note));
export const oneOfOrNull = (values: readonly string[]) => ({
  type: ['string', 'null'],
  enum: [...values, null],
});

/** Rule that an object has these fields; others are allowed. */
export function fields(given: Fields): { required?: string[]; properties: Fields } {
  const names = Object.keys(given);
  const required = names.filter((name) => !name.endsWith('?'));
  const properties = Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), given[name]!]));
  return { ...(required.length > 0 && { required }), properties };
}

/** Conditional rule. Unlike in a union, faults keep their path. */
export function ifThen(condition: object, consequence: object, otherwise?: object): object {
  return { if: condition, then: consequence, ...(otherwise && { else: otherwise }) };
}

/** One of these words, or an object that matches `rule`. */
export function wordOr(words: readonly string[], rule: object): object {
  return ifThen({ type: 'string' }, { enum: words }, ifThen({ type: 'object' }, rule));
}

/** Fields, and a further rule, of an object whose field `name` has this value or one of these. */
export function when(name: string, value: string | readonly string[], given: Fields, rule?: object): object {
  const is = typeof value === 'string' ? { const: value } : { enum: value };
  return ifThen(fields({ [name]: is }), { ...fields(given), ...rule });
}

/** Inline content. Base64 has no colon; a URL has one near its start. */
export const base64 = string({
  pattern: '^(data:|[^:]{64}|[^:]*$)',
  expected: 'a data: URL or base64 (URLs are not fetched)',
});

export const imageData = string({
  pattern: '^data:',
  expected: 'a data: URL (images are not fetched)',
});

/** Inline image, or an image URL, which is checked against the model later (`wire/chat/request/image-urls.ts`). */
export const imageUrl = string({
  pattern: '^(data:|[hH][tT][tT][pP][sS]?://[^\\s/])',
  expected: 'a data: URL, or an https: URL if image_urls is on for the model',
});

export const inputAudio = object({ 'data?': orNull(base64) }, known('format'));

export const requestedModel = string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' });
export const servedModel = string({
  description: 'The model that served the request; it may differ from the requested alias.',
});

export const unixTime = integer({ description: 'Unix time in seconds.' });

export const tokenLimit = { minimum: 1, maximum: 2 ** 31 - 1 };

/** Tool name. Gateways add their own name in front, so it may be longer than the 64 characters that some servers accept. */
export const toolName = string({
  pattern: '^[a-zA-Z0-9_-]{1,128}$',
  expected: '1 to 128 letters, digits, _ or -',
});

export const definedName = string({
  pattern: '^[a-zA-Z0-9_-]{1,64}$',
  expected: '1 to 64 letters, digits, _ or -',
});

/** Display name. Control characters are rejected: Postgres cannot store NUL, and terminals would interpret the others. */
export const titleRule = {
  maxLength: 200,
  pattern: unicodeWithout('\\u0000-\\u001f\\u007f-\\u009f'),
  expected: 'a string of up to 200 characters of valid Unicode, without control characters',
};

/** Ids and URLs: Postgres can neither store NUL nor look it up. */
export const nameRule = {
  pattern: unicodeWithout('\\u0000'),
  expected: 'a string of valid Unicode without NUL characters',
};

const unicodeRule = {
  pattern: unicodeWithout(''),
  expected: 'a string of valid Unicode, without lone surrogates',
};

export const metadataSchema = {
  type: ['object', 'null'],
  maxProperties: 16,
  propertyNames: { maxLength: 64, ...unicodeRule },
  additionalProperties: { type: 'string', maxLength: 512, ...unicodeRule },
};

/**
 * Pattern for text without lone surrogates and these characters. It works on code points (Ajv) and on UTF-16 units
 * (clients generated from the OpenAPI document).
 */
function unicodeWithout(characters: string): string {
  return `^(?:[^${characters}\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$`;
}
