import { type ErrorCode, type ApiError, invalid } from '../../../core/errors.ts';
import { createJson } from './any-value.ts';
import type { Conversion } from './conversion.ts';
import { areDisjoint, typeOf } from './disjoint.ts';
import { formatRule } from './formats.ts';
import { type Element, type GrammarBuilder, GrammarTooLarge } from './grammar.ts';
import { constrainsBeyond, unsupportedKeywords } from './keywords.ts';
import { type Schema, type SchemaObject, TooManyBranches, mergeSchemas } from './merge.ts';
import { type Bounds, BoundsTooFine, integerRange, numberRange } from './number-range.ts';
import { objectRule } from './object-rule.ts';

export interface SchemaSource {
  schema: unknown;
  /** Where the schema stands in the request, such as `response_format.json_schema.schema`. */
  param: string;
  /** Under `strict` a keyword the grammar cannot hold is refused; without it the rest is constrained. */
  strict: boolean;
}

/** Where repeats are refused instead of unrolled. */
const maxRepeats = 2_000;
const maxSchemaDepth = 64;

/**
 * The rule whose texts are JSON values without white space, every one of them valid under the schema. Object members
 * come in the order of `properties`. Throws 422 `validation_error`, `unsupported_keyword` or `schema_too_complex`,
 * with the JSON pointer of the culprit in `param`.
 */
export function schemaRule(b: GrammarBuilder, source: SchemaSource): Element {
  const json = createJson(b);
  const fault = (pointer: string, message: string, code?: ErrorCode): ApiError =>
    invalid(`${source.param}#${pointer}`, message, code);
  const known = new Map<object, Element>();
  const conversion: Conversion = { b, json, convert, fault };

  function convert(schema: unknown, pointer: string, depth: number): Element {
    if (schema === true || schema === undefined) return json.value;
    if (schema === false) return b.rule([]);
    if (!isSchemaObject(schema)) throw fault(pointer, 'a schema must be an object, true or false');
    if (depth > maxSchemaDepth)
      throw fault(pointer, `nested deeper than ${maxSchemaDepth} levels`, 'schema_too_complex');
    const before = known.get(schema);
    if (before) return before;
    // Declared first: a schema may refer to itself.
    const { element, define } = b.declare();
    known.set(schema, element);
    define([[convertObject(schema, pointer, depth + 1)]]);
    return element;
  }

  function convertObject(schema: SchemaObject, pointer: string, depth: number): Element {
    if (source.strict) refuseUnsupported(schema, pointer);
    if (schema.$ref !== undefined) return convertReference(schema, pointer, depth);
    if (Object.hasOwn(schema, 'const')) return fixed([schema.const], schema);
    if (schema.enum !== undefined) {
      if (!Array.isArray(schema.enum)) throw fault(`${pointer}/enum`, 'must be an array');
      return fixed(schema.enum, schema);
    }
    if (schema.allOf !== undefined) return convertAllOf(schema, pointer, depth);
    if (schema.anyOf !== undefined) return convertUnion('anyOf', schema, pointer, depth);
    if (schema.oneOf !== undefined) return convertUnion('oneOf', schema, pointer, depth);
    const types = [schema.type ?? impliedType(schema)].flat();
    if (types.length === 1) return convertType(types[0], schema, pointer, depth);
    return b.rule(types.map((type) => [convertType(type, schema, pointer, depth)]));
  }

  function refuseUnsupported(schema: SchemaObject, pointer: string): void {
    const [keyword] = unsupportedKeywords(schema);
    if (keyword === undefined) return;
    const message = `the keyword ${keyword} cannot be held by this engine; leave it out, or ask without strict`;
    throw fault(`${pointer}/${keyword}`, message, 'unsupported_keyword');
  }

  function resolve(reference: string, pointer: string): { schema: Schema; pointer: string } {
    if (reference !== '#' && !reference.startsWith('#/')) {
      throw fault(
        `${pointer}/$ref`,
        'only references into the same schema (#/...) are followed',
        'unsupported_keyword',
      );
    }
    let target: unknown = source.schema;
    for (const part of reference.split('/').slice(1)) {
      const key = decodePointer(part);
      const holder = target;
      target = isContainer(holder) && Object.hasOwn(holder, key) ? (holder as SchemaObject)[key] : undefined;
    }
    if (typeof target !== 'boolean' && !isSchemaObject(target)) {
      throw fault(`${pointer}/$ref`, `${JSON.stringify(reference)} points to no schema`);
    }
    return { schema: target, pointer: reference.slice(1) };
  }

  function merge(left: Schema, right: Schema, pointer: string): Schema {
    try {
      return mergeSchemas(left, right, (reference) => resolve(reference, pointer).schema);
    } catch (error) {
      if (!(error instanceof TooManyBranches)) throw error;
      throw fault(pointer, 'the combinations of its branches are too many', 'schema_too_complex');
    }
  }

  function convertReference(schema: SchemaObject, pointer: string, depth: number): Element {
    if (typeof schema.$ref !== 'string') throw fault(`${pointer}/$ref`, 'must be a string');
    const target = resolve(schema.$ref, pointer);
    if (!constrainsBeyond(schema, ['$ref'])) return convert(target.schema, target.pointer, depth);
    const { $ref: _, ...rest } = schema;
    return convert(merge(target.schema, rest, pointer), pointer, depth);
  }

  function convertAllOf(schema: SchemaObject, pointer: string, depth: number): Element {
    const { allOf, ...rest } = schema;
    if (source.strict) {
      branches(allOf, `${pointer}/allOf`).forEach((branch, i) => {
        if (isSchemaObject(branch)) refuseUnsupported(branch, `${pointer}/allOf/${i}`);
      });
    }
    const merged = branches(allOf, `${pointer}/allOf`).reduce(
      (a, branch) => merge(a, branch, pointer),
      rest as Schema,
    );
    return convert(merged, pointer, depth);
  }

  function convertUnion(
    keyword: 'anyOf' | 'oneOf',
    schema: SchemaObject,
    pointer: string,
    depth: number,
  ): Element {
    const { [keyword]: union, ...rest } = schema;
    const at = `${pointer}/${keyword}`;
    const options = branches(union, at);
    if (keyword === 'oneOf' && source.strict && overlap(options, pointer)) {
      const message =
        'the branches of oneOf may overlap, which cannot be held; give them different types or constants, or use anyOf';
      throw fault(at, message, 'unsupported_keyword');
    }
    const alone = !constrainsBeyond(rest, []);
    return b.rule(
      options.map((branch, i) => [
        convert(alone ? branch : merge(rest, branch, pointer), alone ? `${at}/${i}` : pointer, depth),
      ]),
    );
  }

  function overlap(options: Schema[], pointer: string): boolean {
    const follow = (reference: string): Schema => resolve(reference, pointer).schema;
    return options.some((a, i) => options.slice(i + 1).some((other) => !areDisjoint(a, other, follow)));
  }

  function branches(value: unknown, pointer: string): Schema[] {
    if (!Array.isArray(value) || value.length === 0)
      throw fault(pointer, 'must be an array with at least one schema');
    const broken = value.findIndex((branch) => typeof branch !== 'boolean' && !isSchemaObject(branch));
    if (broken !== -1) throw fault(`${pointer}/${broken}`, 'a schema must be an object, true or false');
    return value as Schema[];
  }

  function fixed(values: readonly unknown[], schema: SchemaObject): Element {
    const kept = values.filter((value) => allows(schema, value));
    return b.rule(kept.map((value) => b.literal(JSON.stringify(value))));
  }

  function convertType(type: unknown, schema: SchemaObject, pointer: string, depth: number): Element {
    switch (type) {
      case undefined:
        return json.value;
      case 'string':
        return stringRule(schema, pointer);
      case 'integer':
      case 'number':
        return numberRule(type, schema, pointer);
      case 'boolean':
        return json.boolean;
      case 'null':
        return json.null;
      case 'array':
        return arrayRule(schema, pointer, depth);
      case 'object':
        return objectRule(conversion, schema, pointer, depth);
      default:
        throw fault(`${pointer}/type`, `${JSON.stringify(type)} is not a JSON type`);
    }
  }

  function count(schema: SchemaObject, keyword: string, pointer: string): number | undefined {
    const value = schema[keyword];
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
      throw fault(`${pointer}/${keyword}`, 'must be a whole number of at least 0');
    }
    if (value > maxRepeats)
      throw fault(`${pointer}/${keyword}`, `must not exceed ${maxRepeats}`, 'schema_too_complex');
    return value;
  }

  function stringRule(schema: SchemaObject, pointer: string): Element {
    const min = count(schema, 'minLength', pointer);
    const max = count(schema, 'maxLength', pointer);
    const quote = b.literal('"');
    const isFree = min === undefined && max === undefined;
    if (typeof schema.format === 'string') {
      const format = isFree ? formatRule(b, json, schema.format) : undefined;
      if (format) return b.rule([[...quote, format, ...quote]]);
      const message = `the format ${schema.format}${isFree ? '' : ' beside a length'} cannot be held by this engine`;
      if (source.strict) throw fault(`${pointer}/format`, message, 'unsupported_keyword');
    }
    if (isFree) return json.string;
    if (max !== undefined && max < (min ?? 0)) return b.rule([]);
    return b.rule([[...quote, b.repeat([json.stringCharacter], min ?? 0, max ?? Infinity), ...quote]]);
  }

  function numberRule(type: 'integer' | 'number', schema: SchemaObject, pointer: string): Element {
    const bounds: Bounds = {};
    for (const keyword of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const) {
      const value = schema[keyword];
      if (value === undefined) continue;
      if (typeof value !== 'number' || !Number.isFinite(value))
        throw fault(`${pointer}/${keyword}`, 'must be a number');
      bounds[keyword] = value;
    }
    try {
      return type === 'integer' ? integerRange(b, json, bounds) : numberRange(b, json, bounds);
    } catch (error) {
      if (!(error instanceof BoundsTooFine)) throw error;
      throw fault(pointer, 'its bounds need more digits than a double holds', 'schema_too_complex');
    }
  }

  function arrayRule(schema: SchemaObject, pointer: string, depth: number): Element {
    const min = count(schema, 'minItems', pointer) ?? 0;
    const max = count(schema, 'maxItems', pointer) ?? Infinity;
    if (max < min) return b.rule([]);
    const [open, close] = [b.literal('['), b.literal(']')];
    if (max === 0) return b.rule([[...open, ...close]]);
    if (Array.isArray(schema.items)) {
      if (source.strict)
        throw fault(`${pointer}/items`, 'a list of schemas cannot be held', 'unsupported_keyword');
      return json.array;
    }
    const item = convert(schema.items, `${pointer}/items`, depth);
    const rest = b.repeat([...b.literal(','), item], Math.max(0, min - 1), max - 1);
    const items = b.rule(min === 0 ? [[], [item, rest]] : [[item, rest]]);
    return b.rule([[...open, items, ...close]]);
  }

  try {
    return convert(source.schema, '', 0);
  } catch (error) {
    if (!(error instanceof GrammarTooLarge)) throw error;
    throw fault(
      '',
      'unrolled, it needs too many rules; lower its lengths and item counts',
      'schema_too_complex',
    );
  }
}

function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function decodePointer(part: string): string {
  let decoded = part;
  try {
    decoded = decodeURIComponent(part);
  } catch {
    // Not percent-encoded: taken as it stands.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The type a schema without `type` is about: its other values are never generated, which is allowed. */
function impliedType(schema: SchemaObject): string | undefined {
  const has = (...keywords: string[]): boolean => keywords.some((keyword) => schema[keyword] !== undefined);
  if (has('properties', 'required', 'additionalProperties')) return 'object';
  if (has('items', 'minItems', 'maxItems')) return 'array';
  if (has('minLength', 'maxLength', 'format')) return 'string';
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum') ? 'number' : undefined;
}

/** Whether a fixed value also satisfies the plain keywords beside it. */
function allows(schema: SchemaObject, value: unknown): boolean {
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const type = typeOf(value);
  if (types && !types.includes(type) && !(types.includes('integer') && Number.isInteger(value))) return false;
  if (typeof value === 'number') {
    return (
      value >= limit(schema.minimum, -Infinity) &&
      value <= limit(schema.maximum, Infinity) &&
      value > limit(schema.exclusiveMinimum, -Infinity) &&
      value < limit(schema.exclusiveMaximum, Infinity)
    );
  }
  if (typeof value === 'string') {
    const length = Array.from(value).length;
    return length >= limit(schema.minLength, 0) && length <= limit(schema.maxLength, Infinity);
  }
  return true;
}

function limit(bound: unknown, otherwise: number): number {
  return typeof bound === 'number' ? bound : otherwise;
}
