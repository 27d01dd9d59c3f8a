/**
 * JSON Schema 2020-12 as plain objects, so that one object is the validator's input, the OpenAPI document's content and the
 * documentation's source. A library for this would cost a fifth of the time in which the service starts.
 */
export type Schema = object;

/** The fields of an object by name. One that is called `name?` may be left out. */
export type Fields = Readonly<Record<string, Schema>>;

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
  format?: string;
}

export const string = (rule: TextRule = {}) => ({ type: 'string', ...rule });
export const integer = (range: Range = {}) => ({ type: 'integer', ...range });
export const number = (range: Range = {}) => ({ type: 'number', ...range });
export const boolean = (note: Note = {}) => ({ type: 'boolean', ...note });
export const array = (items: Schema, rule: object = {}) => ({ type: 'array', items, ...rule });
export const object = (given: Fields, rule: object = {}) => ({ type: 'object', ...fields(given), ...rule });

/** Any JSON object. */
export const anyObject = (note: Note = {}) => ({ type: 'object', ...note });

/** Exactly this value. */
export const literal = (value: string | boolean) => ({ type: typeof value, const: value });

/** One of a few strings, as `enum`: a union of constants has useless faults. */
export const oneOf = (values: readonly string[], note: Note = {}) => ({
  type: 'string',
  enum: [...values],
  ...note,
});

/** What `schema` takes, or null: SDKs send `null` for "not set", so optional fields take it. */
export const orNull = <T extends { type: string }>(schema: T) => ({ ...schema, type: [schema.type, 'null'] });
export const integerOrNull = (range: Range = {}) => orNull(integer(range));
export const numberOrNull = (range: Range = {}) => orNull(number(range));
export const stringOrNull = (rule: TextRule = {}) => orNull(string(rule));
export const booleanOrNull = (note: Note = {}) => orNull(boolean(note));
export const oneOfOrNull = (values: readonly string[]) => ({
  type: ['string', 'null'],
  enum: [...values, null],
});

/** That an object has these fields, whatever else it is. */
export function fields(given: Fields): { required?: string[]; properties: Fields } {
  const names = Object.keys(given);
  const required = names.filter((name) => !name.endsWith('?'));
  const properties = Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), given[name]!]));
  return { ...(required.length > 0 && { required }), properties };
}

/** What holds when `condition` does: the union whose faults keep their path. */
export function ifThen(condition: object, consequence: object, otherwise?: object): object {
  return { if: condition, then: consequence, ...(otherwise && { else: otherwise }) };
}

/** One of these words, or an object of which `rule` holds. */
export function wordOr(words: readonly string[], rule: object): object {
  return ifThen({ type: 'string' }, { enum: words }, ifThen({ type: 'object' }, rule));
}

/** Which fields an object has, and what else holds, when the field `name` has this value, or one of these. */
export function when(name: string, value: string | readonly string[], given: Fields, rule?: object): object {
  const is = typeof value === 'string' ? { const: value } : { enum: value };
  return ifThen(fields({ [name]: is }), { ...fields(given), ...rule });
}

/** Content in the request itself. Base64 has no colon, an address has one near its beginning. */
export const base64 = string({
  pattern: '^(data:|[^:]{64}|[^:]*$)',
  expected: 'a data: URL or base64, because nothing is fetched for a caller',
});

/** An image in the request itself. */
export const imageData = string({
  pattern: '^data:',
  expected: 'a data: URL, because images are never fetched for a caller',
});

/** An image in the request itself, or at an address; the model decides about the latter (`wire/chat/request/image-urls.ts`). */
export const imageUrl = string({
  pattern: '^(data:|[hH][tT][tT][pP][sS]?://[^\\s/])',
  expected: 'a data: URL, or an https: URL for a model whose image_urls are on',
});

/** Audio of a message, as the official service takes it. */
export const inputAudio = object({ 'data?': orNull(base64) });

/** What a request calls its model, and what an answer calls it. */
export const requestedModel = string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' });
export const servedModel = string({
  description: 'The model that served the request; it may differ from the alias asked for.',
});

export const unixTime = integer({ description: 'Unix time in seconds.' });

/** The most tokens of something. */
export const tokenLimit = { minimum: 1, maximum: 2 ** 31 - 1 };

/** The name of a tool. Those behind gateways carry the name of the gateway; servers that take 64 characters get a shorter one. */
export const toolName = string({
  pattern: '^[a-zA-Z0-9_-]{1,128}$',
  expected: '1 to 128 letters, digits, _ or -',
});

/** The name of a schema. */
export const definedName = string({
  pattern: '^[a-zA-Z0-9_-]{1,64}$',
  expected: '1 to 64 letters, digits, _ or -',
});

/** What people call a thing. Postgres keeps no NUL, and a terminal should be told nothing. */
export const titleRule = {
  maxLength: 200,
  pattern: unicodeWithout('\\u0000-\\u001f\\u007f-\\u009f'),
  expected: 'up to 200 characters of valid Unicode, without control characters',
};

/** What names a thing, as an id or a URL: Postgres can neither keep a NUL nor be asked for one. */
export const nameRule = { pattern: unicodeWithout('\\u0000'), expected: 'valid Unicode without a NUL' };

const unicodeRule = {
  pattern: unicodeWithout(''),
  expected: 'valid Unicode, without half of a surrogate pair',
};

/** What may be noted of a thing: 16 texts of 512 characters, with names of 64. */
export const metadataSchema = {
  type: ['object', 'null'],
  maxProperties: 16,
  propertyNames: { maxLength: 64, ...unicodeRule },
  additionalProperties: { type: 'string', maxLength: 512, ...unicodeRule },
};

/**
 * A pattern of texts without half of a surrogate pair and without these characters. It means the same whether a reader
 * takes a pattern for code points, as Ajv does, or for UTF-16 units, as clients generated from the OpenAPI document may.
 */
function unicodeWithout(characters: string): string {
  return `^(?:[^${characters}\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$`;
}
