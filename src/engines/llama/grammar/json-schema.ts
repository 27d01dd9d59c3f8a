import { isObject } from '../../../base/fields.ts';
import { plainReference, pointedAt } from '../../../base/json-pointer.ts';
import { invalid } from '../../../core/errors.ts';
import { createJson } from './any-value.ts';
import { arrayRule } from './array-rule.ts';
import type { Conversion, FaultAt } from './conversion.ts';
import { type Element, type GrammarBuilder, SchemaTooLarge, tooManyBranches } from './grammar.ts';
import { type Schema, type SchemaObject, constrainsBeyond, impliedType } from './keywords.ts';
import { type Walk, inlined, mergeSchemas, normal } from './merge.ts';
import { numberRule } from './number-rule.ts';
import { objectRule } from './object-rule.ts';
import { createPatterns } from './regular/automaton.ts';
import { satisfies } from './satisfies.ts';
import { stringRule } from './string-rule.ts';

export interface SchemaSource {
  /** One that was found to be a JSON Schema: that its keywords have the values they may have is not looked at again. */
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
  try {
    return convertSchema(b, source, fault);
  } catch (error) {
    throw error instanceof SchemaTooLarge ? fault('', error.message, 'schema_too_complex') : error;
  }
}

function convertSchema(b: GrammarBuilder, source: SchemaSource, fault: FaultAt): Element {
  const { strict } = source;
  const json = createJson(b);
  const any = b.declare();
  const known = new Map<object, Element>();
  const conversion: Conversion = {
    b,
    json,
    languageOf: createPatterns(),
    convert,
    walk,
    fault,
    unheld,
  };
  let steps = 0;
  let depth = 0;

  function convert(schema: unknown, pointer: string): Element {
    if (schema === true || schema === undefined) return any.element;
    if (!isObject(schema)) return b.rule([]);
    if (depth > maxDepth) throw tooManyBranches();
    const before = known.get(schema);
    if (before) return before;
    // Declared first: a schema may refer to itself.
    const { element, define } = b.declare();
    known.set(schema, element);
    depth++;
    define([[convertObject(schema, pointer)]]);
    depth--;
    return element;
  }

  function convertObject(given: SchemaObject, pointer: string): Element {
    const schema = normal(given);
    if (refusesAll(schema.not)) return b.rule([]);
    if (schema.$ref !== undefined && !constrainsBeyond(schema, ['$ref'])) {
      const target = resolve(schema.$ref as string, pointer);
      return convert(target.schema, target.pointer);
    }
    if (schema.$ref !== undefined || schema.allOf !== undefined)
      return convert(inlined(schema, walk(pointer)), pointer);
    if (schema.anyOf !== undefined) return convertUnion('anyOf', schema, pointer);
    if (schema.oneOf !== undefined) return convertUnion('oneOf', schema, pointer);
    if (schema.enum !== undefined) return fixed(schema);
    const types = [schema.type ?? impliedType(schema)].flat() as (string | undefined)[];
    const rules = types.map((type) => convertType(type, schema, pointer));
    return rules.length === 1 ? rules[0]! : b.rule(rules.map((rule) => [rule]));
  }

  function unheld(pointer: string, keyword: string, why: string): void {
    if (!strict) return;
    const message = `this engine cannot hold ${keyword} here: ${why}. Leave it out, or ask without strict`;
    throw fault(`${pointer}/${keyword}`, message, 'unsupported_keyword');
  }

  function resolve(reference: string, pointer: string): { schema: Schema; pointer: string } {
    if (reference !== '#' && !reference.startsWith('#/')) {
      const message = 'only references into the same schema (#/...) are followed';
      throw fault(`${pointer}/$ref`, message, 'unsupported_keyword');
    }
    const target = pointedAt(source.schema, plainReference(reference));
    if (typeof target !== 'boolean' && !isObject(target)) {
      throw fault(`${pointer}/$ref`, `${JSON.stringify(reference)} points to no schema`);
    }
    return { schema: target, pointer: reference.slice(1) };
  }

  function walk(pointer: string): Walk {
    return {
      resolve: (reference) => resolve(reference, pointer).schema,
      step() {
        if (++steps > maxSteps) throw tooManyBranches();
      },
    };
  }

  /** Of `oneOf` too any branch: that no second one fits as well is checked once the answer is there. */
  function convertUnion(keyword: 'anyOf' | 'oneOf', schema: SchemaObject, pointer: string): Element {
    const { [keyword]: union, ...rest } = schema;
    const branches = keyword === 'oneOf' ? apart(union as Schema[]) : (union as Schema[]);
    const isAlone = !constrainsBeyond(rest, []);
    const rules = branches.map((branch, i) =>
      isAlone
        ? convert(branch, `${pointer}/${keyword}/${i}`)
        : convert(mergeSchemas(rest, branch, walk(pointer)), pointer),
    );
    return b.rule(rules.map((rule) => [rule]));
  }

  function fixed(schema: SchemaObject): Element {
    const kept = (schema.enum as unknown[]).filter((value) => satisfies(value, schema));
    return b.rule(kept.map((value) => b.literal(JSON.stringify(value))));
  }

  function convertType(type: string | undefined, schema: SchemaObject, pointer: string): Element {
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
        return arrayRule(conversion, schema, pointer);
      case 'object':
        return objectRule(conversion, schema, pointer);
      default:
        return any.element;
    }
  }

  const ofAny = [arrayRule(conversion, {}, ''), objectRule(conversion, {}, '')];
  any.define([...json.scalars, ...ofAny.map((rule) => [rule])]);
  return convert(source.schema, '');
}

/** Whether the schema of a `not` takes everything, so that nothing is left. */
function refusesAll(not: unknown): boolean {
  return not === true || (isObject(not) && !constrainsBeyond(not, []));
}

/**
 * Branches that ask for nothing but members ("one of these two") each go without a member that another asks for, so that no
 * two of them fit. Others are left as they are.
 */
function apart(branches: readonly Schema[]): readonly Schema[] {
  const asked = branches.map((branch) =>
    isObject(branch) && !constrainsBeyond(branch, ['required', 'type'])
      ? ((branch.required ?? []) as string[])
      : null,
  );
  return branches.map((branch, i) => {
    const own = asked[i];
    if (!isObject(branch) || !own || asked.includes(null)) return branch;
    const others = asked.flatMap((names) => names!.find((name) => !own.includes(name)) ?? []);
    return { ...branch, properties: Object.fromEntries(others.map((name) => [name, false])) };
  });
}
