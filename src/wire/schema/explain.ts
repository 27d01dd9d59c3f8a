import type { ErrorObject } from 'ajv';
import { unescapePointerPart } from '../../base/json-pointer.ts';
import type { Fault } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';

/** Annotation of a schema that describes valid values: `expected: 'a string or an array of parts'`. */
export interface Expected {
  expected?: string;
}

/** Converts Ajv's errors to faults with a path like `messages[0].content` and a message that names the expected and actual value. */
export function explain(errors: readonly ErrorObject[], root: unknown, limit: number): Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const error of errors) {
    if (faults.length === limit) break;
    // The branch or name that failed has an error of its own.
    if (error.keyword === 'if' || error.keyword === 'propertyNames') continue;
    const param = pathOf(error, root);
    const message = sentence(error);
    const key = `${param}\n${message}`;
    if (seen.has(key)) continue;
    seen.add(key);
    faults.push(
      param === '' ? { code: 'validation_error', message } : { param, code: 'validation_error', message },
    );
  }
  return faults;
}

/** Appends a key: `messages[0].content`, or quoted where it is not an identifier: `logit_bias["a b"]`. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${quoted(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Splits a path into steps with their texts: `messages`, `[0]` and `.content` for `messages[0].content`. */
export function stepsOf(path: string): { step: string | number; text: string }[] {
  const pattern = /\.?([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g;
  return Array.from(path.matchAll(pattern), ([text, name, index, key]) => ({
    step: index === undefined ? (name ?? key)! : Number(index),
    text,
  }));
}

function pathOf(error: ErrorObject, root: unknown): string {
  let path = '';
  let value = root;
  for (const segment of error.instancePath.split('/').slice(1)) {
    const key = unescapePointerPart(segment);
    path = joinPath(path, Array.isArray(value) ? Number(key) : key);
    value = (value as Record<string, unknown> | undefined)?.[key];
  }
  const extra = missingOrUnknown(error);
  return extra === undefined ? path : joinPath(path, extra);
}

function missingOrUnknown(error: ErrorObject): string | undefined {
  const { missingProperty, additionalProperty, propertyName } = error.params as Record<string, string>;
  return missingProperty ?? additionalProperty ?? propertyName ?? error.propertyName;
}

function sentence(error: ErrorObject): string {
  const params = error.params as { limit?: number; type?: string | string[]; allowedValues?: unknown[] };
  const { limit = 0 } = params;
  const items = Array.isArray(error.data) ? 'items' : 'fields';
  switch (error.keyword) {
    case 'required':
      return 'required, but missing';
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'unknown field';
    case 'type':
      return `expected ${expectedOf(error) ?? typeWords(params.type)}, got ${describe(error.data)}`;
    case 'enum':
      return `expected ${oneOf(params.allowedValues ?? [])}, got ${describe(error.data)}`;
    case 'const':
      return `expected ${JSON.stringify((error.params as { allowedValue: unknown }).allowedValue)}, got ${describe(error.data)}`;
    case 'minimum':
    case 'exclusiveMinimum':
      return `expected ${error.keyword === 'minimum' ? 'at least' : 'more than'} ${limit}, got ${describe(error.data)}`;
    case 'maximum':
    case 'exclusiveMaximum':
      return `expected ${error.keyword === 'maximum' ? 'at most' : 'less than'} ${limit}, got ${describe(error.data)}`;
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return limit === 1
        ? 'must not be empty'
        : `expected at least ${limit} ${error.keyword === 'minLength' ? 'characters' : items}`;
    case 'maxLength':
      return `expected at most ${limit} characters, got ${String(error.data).length}`;
    case 'maxItems':
    case 'maxProperties':
      return `expected at most ${limit} ${items}, got ${sizeOf(error.data)}`;
    case 'uniqueItems': {
      const { i, j } = error.params as { i: number; j: number };
      return `items ${Math.min(i, j)} and ${Math.max(i, j)} are the same`;
    }
    case 'pattern':
      return `expected ${expectedOf(error) ?? `text matching ${(error.params as { pattern: string }).pattern}`}, got ${describe(error.data)}`;
    case 'false schema':
      return expectedOf(error) ?? 'not allowed here';
    default:
      return error.message ?? 'invalid';
  }
}

function expectedOf(error: ErrorObject): string | undefined {
  return (error.parentSchema as Expected | undefined)?.expected;
}

const words: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

/** Names the types; null, which is allowed nearly everywhere, only where nothing else is. */
function typeWords(type: string | string[] | undefined): string {
  const types = typeof type === 'string' ? type.split(',') : (type ?? []);
  const named = types.length > 1 ? types.filter((name) => name !== 'null') : types;
  return listed(named.map((name) => words[name] ?? name));
}

function oneOf(values: unknown[]): string {
  const shown = values.filter((value) => value !== null).map((value) => JSON.stringify(value));
  return shown.length === 1 ? shown[0]! : `one of ${listed(shown)}`;
}

function listed(items: string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;
}

/** Short description of a value. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'a number that is too large';
  if (typeof value === 'boolean') return `${value}`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  return 'an object';
}

function sizeOf(value: unknown): number {
  return Array.isArray(value) ? value.length : Object.keys(value as object).length;
}
