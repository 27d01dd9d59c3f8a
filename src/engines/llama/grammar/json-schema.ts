import { invalid } from '../../../core/errors.ts';
import { createJson } from './any-value.ts';
import type { Conversion } from './conversion.ts';
import { areDisjoint } from './disjoint.ts';
import { type Element, type GrammarBuilder, GrammarTooLarge } from './grammar.ts';
import { constrainsBeyond, unsupportedKeywords } from './keywords.ts';
import { arrayRule, numberRule, stringRule } from './leaf-rules.ts';
import { type Schema, type SchemaObject, TooManyBranches, type Walk, mergeSchemas } from './merge.ts';
import { objectRule } from './object-rule.ts';
import { satisfies } from './satisfies.ts';
import { type FaultAt, checkShape, isObject } from './shape.ts';

export interface SchemaSource {
  schema: unknown;
  /** Where the schema stands in the request, such as `response_format.json_schema.schema`. */
  param: string;
  /** Under `strict` a keyword the grammar cannot hold is refused; without it the rest is constrained. */
  strict: boolean;
}

const maxDepth = 128;
/** Schemas looked at while branches are combined and compared; nested unions multiply. */
const maxSteps = 20_000;

/**
 * The rule whose texts are JSON values without white space, every one of them valid under the schema. Object members
 * come in the order of `properties`. Throws 422 `validation_error`, `unsupported_keyword` or `schema_too_complex`,
 * with the JSON pointer of the culprit in `param`.
 */
export function schemaRule(b: GrammarBuilder, source: SchemaSource): Element {
  const fault: FaultAt = (pointer, message, code) => invalid(`${source.param}#${pointer}`, message, code);
  const checked = new Set<object>();
  checkShape(source.schema, '', fault, checked);
  try {
    return convertSchema(b, source, fault, checked);
  } catch (error) {
    if (error instanceof TooManyBranches) {
      throw fault('', 'the combinations of its branches are too many', 'schema_too_complex');
    }
    if (error instanceof GrammarTooLarge) {
      const message = 'unrolled, it needs too many rules; lower its lengths and item counts';
      throw fault('', message, 'schema_too_complex');
    }
    throw error;
  }
}

function convertSchema(
  b: GrammarBuilder,
  source: SchemaSource,
  fault: FaultAt,
  checked: Set<object>,
): Element {
  const { strict } = source;
  const json = createJson(b);
  const known = new Map<object, Element>();
  const conversion: Conversion = { b, json, strict, convert, fault };
  let steps = 0;

  function convert(schema: unknown, pointer: string, depth: number): Element {
    if (schema === true || schema === undefined) return json.value;
    if (!isObject(schema)) return b.rule([]);
    if (depth > maxDepth) throw new TooManyBranches();
    const before = known.get(schema);
    if (before) return before;
    // Declared first: a schema may refer to itself.
    const { element, define } = b.declare();
    known.set(schema, element);
    define([[convertObject(schema, pointer, depth + 1)]]);
    return element;
  }

  function convertObject(schema: SchemaObject, pointer: string, depth: number): Element {
    if (strict) refuseUnsupported(schema, pointer);
    if (Object.hasOwn(schema, 'const')) return fixed([schema.const], schema, pointer);
    if (schema.enum !== undefined) return fixed(schema.enum as unknown[], schema, pointer);
    if (schema.$ref !== undefined) return convertReference(schema, pointer, depth);
    if (schema.allOf !== undefined) return convertAllOf(schema, pointer, depth);
    if (schema.anyOf !== undefined) return convertUnion('anyOf', schema, pointer, depth);
    if (schema.oneOf !== undefined) return convertUnion('oneOf', schema, pointer, depth);
    const types = [schema.type ?? impliedType(schema)].flat() as (string | undefined)[];
    const rules = types.map((type) => convertType(type, schema, pointer, depth));
    return rules.length === 1 ? rules[0]! : b.rule(rules.map((rule) => [rule]));
  }

  function refuseUnsupported(schema: SchemaObject, pointer: string): void {
    const [keyword] = unsupportedKeywords(schema);
    if (keyword === undefined) return;
    const message = `the keyword ${keyword} cannot be held by this engine; leave it out, or ask without strict`;
    throw fault(`${pointer}/${keyword}`, message, 'unsupported_keyword');
  }

  function resolve(reference: string, pointer: string): { schema: Schema; pointer: string } {
    if (reference !== '#' && !reference.startsWith('#/')) {
      const message = 'only references into the same schema (#/...) are followed';
      throw fault(`${pointer}/$ref`, message, 'unsupported_keyword');
    }
    let target: unknown = source.schema;
    for (const part of reference.split('/').slice(1)) {
      const key = decodePointer(part);
      target = holds(target, key) ? target[key] : undefined;
    }
    if (typeof target !== 'boolean' && !isObject(target)) {
      throw fault(`${pointer}/$ref`, `${JSON.stringify(reference)} points to no schema`);
    }
    checkShape(target, reference.slice(1), fault, checked);
    return { schema: target, pointer: reference.slice(1) };
  }

  function walk(pointer: string): Walk {
    return {
      resolve: (reference) => resolve(reference, pointer).schema,
      step() {
        if (++steps > maxSteps) throw new TooManyBranches();
      },
    };
  }

  function convertReference(schema: SchemaObject, pointer: string, depth: number): Element {
    const target = resolve(schema.$ref as string, pointer);
    if (!constrainsBeyond(schema, ['$ref'])) return convert(target.schema, target.pointer, depth);
    const { $ref: _, ...rest } = schema;
    return convert(mergeSchemas(target.schema, rest, walk(pointer)), pointer, depth);
  }

  function convertAllOf(schema: SchemaObject, pointer: string, depth: number): Element {
    const { allOf, ...rest } = schema;
    const branches = allOf as Schema[];
    if (strict) {
      // Merged, a keyword could no longer be told where it came from.
      for (const [i, branch] of branches.entries()) {
        if (isObject(branch)) refuseUnsupported(branch, `${pointer}/allOf/${i}`);
      }
    }
    const merged = branches.reduce((all, branch) => mergeSchemas(all, branch, walk(pointer)), rest as Schema);
    return convert(merged, pointer, depth);
  }

  function convertUnion(
    keyword: 'anyOf' | 'oneOf',
    schema: SchemaObject,
    pointer: string,
    depth: number,
  ): Element {
    const { [keyword]: union, ...rest } = schema;
    const branches = union as Schema[];
    const at = `${pointer}/${keyword}`;
    if (keyword === 'oneOf' && strict && mayOverlap(branches, pointer)) {
      const message =
        'its branches may overlap, which this engine cannot exclude; give them different types or constants, or use anyOf';
      throw fault(at, message, 'unsupported_keyword');
    }
    const alternatives = constrainsBeyond(rest, [])
      ? branches.map((branch) => convert(mergeSchemas(rest, branch, walk(pointer)), pointer, depth))
      : branches.map((branch, i) => convert(branch, `${at}/${i}`, depth));
    return b.rule(alternatives.map((alternative) => [alternative]));
  }

  function mayOverlap(branches: readonly Schema[], pointer: string): boolean {
    return branches.some((a, i) =>
      branches.slice(i + 1).some((other) => !areDisjoint(a, other, walk(pointer))),
    );
  }

  function fixed(values: readonly unknown[], schema: SchemaObject, pointer: string): Element {
    const kept = values.filter((value) => satisfies(value, schema, walk(pointer)));
    return b.rule(kept.map((value) => b.literal(JSON.stringify(value))));
  }

  function convertType(
    type: string | undefined,
    schema: SchemaObject,
    pointer: string,
    depth: number,
  ): Element {
    switch (type) {
      case 'string':
        return stringRule(conversion, schema, pointer);
      case 'integer':
      case 'number':
        return numberRule(conversion, type, schema, pointer);
      case 'boolean':
        return json.boolean;
      case 'null':
        return json.null;
      case 'array':
        return arrayRule(conversion, schema, pointer, depth);
      case 'object':
        return objectRule(conversion, schema, pointer, depth);
      default:
        return json.value;
    }
  }

  return convert(source.schema, '', 0);
}

function holds(target: unknown, key: string): target is Record<string, unknown> {
  return typeof target === 'object' && target !== null && Object.hasOwn(target, key);
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
