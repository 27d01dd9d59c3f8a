import { canonicalJson } from '../../../base/canonical-json.ts';
import { isMultiple } from '../../../base/is-multiple.ts';
import { formats } from '../formats.ts';
import { fail, type Node, type Run, spend } from './evaluate.ts';
import type { KeywordReader } from './keyword-reader.ts';

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/** Adds `type`, `enum` and `const`, and the keywords of numbers and strings. */
export function addValueRules(node: Node, reader: KeywordReader): void {
  addType(node, reader);
  const values = reader.value('enum');
  if (values !== undefined) {
    if (!Array.isArray(values) || values.length === 0)
      throw reader.bad('enum', 'expected a list with at least one value');
    addValues(node, values, 'must be equal to one of the allowed values');
  }
  if (reader.has('const')) addValues(node, [reader.value('const')], 'must be equal to constant');
  addNumberRules(node, reader);
  addStringRules(node, reader);
}

function addType(node: Node, reader: KeywordReader): void {
  if (!reader.has('type')) return;
  const type = reader.value('type');
  const names = Array.isArray(type) ? reader.names(type, reader.place('type')) : [type as string];
  if (names.length === 0 || !names.every((name) => types.includes(name)))
    throw reader.bad('type', `expected ${types.slice(0, -1).join(', ')} or ${types.at(-1)}`);
  const allowed = new Set(names);
  // OpenAPI 3.0
  if (reader.value('nullable') === true) allowed.add('null');
  const how = `must be ${names.join(' or ')}`;
  const takesIntegers = allowed.has('integer');
  node.any.push(
    (value, run) =>
      allowed.has(typeOf(value)) || (takesIntegers && Number.isInteger(value)) || fail(run, how),
  );
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Lists and objects are compared as canonical JSON, so that thousands of allowed values take no longer than one. */
function addValues(node: Node, values: readonly unknown[], how: string): void {
  const plain = new Set<unknown>();
  const composed = new Set<string>();
  for (const value of values) {
    if (isComposed(value)) composed.add(canonicalJson(value));
    else plain.add(value);
  }
  node.any.push((value, run) => {
    const isAllowed = isComposed(value)
      ? composed.size > 0 && composed.has(canonical(value, run))
      : plain.has(value);
    return isAllowed || fail(run, how);
  });
}

export function isComposed(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Canonical JSON, for the steps that it takes. */
export function canonical(value: object, run: Run): string {
  const text = canonicalJson(value);
  spend(run, Math.ceil(text.length / 8));
  return text;
}

const bounds = [
  ['minimum', '>=', (value: number, bound: number) => value >= bound],
  ['maximum', '<=', (value: number, bound: number) => value <= bound],
  ['exclusiveMinimum', '>', (value: number, bound: number) => value > bound],
  ['exclusiveMaximum', '<', (value: number, bound: number) => value < bound],
] as const;

function addNumberRules(node: Node, reader: KeywordReader): void {
  for (const [name, sign, isWithin] of bounds) {
    const bound = reader.number(name);
    if (bound === undefined) continue;
    node.number.push((value, run) => isWithin(value, bound) || fail(run, `must be ${sign} ${bound}`));
  }
  const step = reader.number('multipleOf');
  if (step === undefined) return;
  if (!(step > 0)) throw reader.bad('multipleOf', 'expected a number above 0');
  node.number.push((value, run) => isMultiple(value, step) || fail(run, `must be multiple of ${step}`));
}

function addStringRules(node: Node, reader: KeywordReader): void {
  const min = reader.count('minLength') ?? 0;
  const max = reader.count('maxLength') ?? Infinity;
  // A character has one or two units.
  if (min > 0)
    node.string.push(
      (text, run) =>
        text.length >= 2 * min ||
        (text.length >= min && lengthOf(text) >= min) ||
        fail(run, `must NOT have fewer than ${min} characters`),
    );
  if (max < Infinity)
    node.string.push(
      (text, run) =>
        text.length <= max ||
        (text.length <= 2 * max && lengthOf(text) <= max) ||
        fail(run, `must NOT have more than ${max} characters`),
    );
  const pattern = reader.value('pattern');
  if (pattern !== undefined) {
    if (typeof pattern !== 'string') throw reader.bad('pattern', 'expected a string');
    const matches = reader.pattern(pattern, 'pattern');
    node.string.push((text, run) => matches(text, run) || fail(run, `must match pattern "${pattern}"`));
  }
  const format = reader.has('format') ? reader.value('format') : '';
  if (typeof format !== 'string') throw reader.bad('format', 'expected a string');
  const isOfFormat = Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (isOfFormat)
    node.string.push((text, run) => {
      spend(run, text.length >> 5);
      return isOfFormat(text) || fail(run, `must match format "${format}"`);
    });
}

/** Number of characters, not of UTF-16 units. */
function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
