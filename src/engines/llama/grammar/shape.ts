import type { ApiError, ErrorCode } from '../../../core/errors.ts';

export type FaultAt = (pointer: string, message: string, code?: ErrorCode) => ApiError;

const maxDepth = 64;
const maxSchemas = 10_000;

/**
 * Checks that the keywords we read have the values JSON Schema gives them, all the way down, so that nothing behind it
 * needs to. `seen` carries over between calls: a reference may lead to a place that is no schema by position.
 */
export function checkShape(schema: unknown, pointer: string, fault: FaultAt, seen: Set<object>): void {
  const open: { schema: unknown; pointer: string; depth: number }[] = [{ schema, pointer, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { schema: one, pointer: at, depth } = next;
    if (typeof one === 'boolean') continue;
    if (!isObject(one)) throw fault(at, 'a schema must be an object, true or false');
    if (seen.has(one)) continue;
    seen.add(one);
    if (depth > maxDepth) throw fault(at, `nested deeper than ${maxDepth} levels`, 'schema_too_complex');
    if (seen.size > maxSchemas) throw fault('', `more than ${maxSchemas} schemas`, 'schema_too_complex');
    for (const [keyword, value] of Object.entries(one)) {
      if (!Object.hasOwn(shapes, keyword)) continue;
      const { expected, isRight, children } = shapes[keyword]!;
      const place = `${at}/${encodePointer(keyword)}`;
      if (!isRight(value)) throw fault(place, `must be ${expected}`);
      for (const [step, child] of children?.(value) ?? []) {
        open.push({ schema: child, pointer: place + step, depth: depth + 1 });
      }
    }
  }
}

interface Shape {
  expected: string;
  isRight: (value: unknown) => boolean;
  /** Schemas inside, with the pointer that leads to them. */
  children?: (value: unknown) => [string, unknown][];
}

const jsonTypes = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
const isType = (value: unknown): boolean => typeof value === 'string' && jsonTypes.includes(value);

const type: Shape = {
  expected: 'a JSON type or a list of them',
  isRight: (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
};
const list: Shape = {
  expected: 'an array with at least one value',
  isRight: (v) => Array.isArray(v) && v.length > 0,
};
const names: Shape = {
  expected: 'an array of property names',
  isRight: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
};
const text: Shape = { expected: 'a string', isRight: (value) => typeof value === 'string' };
const number: Shape = {
  expected: 'a number',
  isRight: (value) => typeof value === 'number' && Number.isFinite(value),
};
const count: Shape = {
  expected: 'a whole number of at least 0',
  isRight: (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0,
};
const one: Shape = {
  expected: 'an object, true or false',
  isRight: (value) => typeof value === 'boolean' || isObject(value),
  children: (value) => [['', value]],
};
const several: Shape = {
  expected: 'an array with at least one schema',
  isRight: (value) => Array.isArray(value) && value.length > 0,
  children: (value) => (value as unknown[]).map((child, index) => [`/${index}`, child]),
};
const byName: Shape = {
  expected: 'an object',
  isRight: isObject,
  children: (value) =>
    Object.entries(value as object).map(([name, child]) => [`/${encodePointer(name)}`, child]),
};
const positive: Shape = {
  expected: 'a number above 0',
  isRight: (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
};
const flag: Shape = { expected: 'true or false', isRight: (value) => typeof value === 'boolean' };
const namesByName: Shape = {
  expected: 'an object with arrays of property names',
  isRight: (value) => isObject(value) && Object.values(value).every(names.isRight),
};
const needs: Shape = {
  expected: 'an object with schemas or arrays of property names',
  isRight: isObject,
  children: (value) =>
    byName.children!(value).filter(([, child]) => !(Array.isArray(child) && names.isRight(child))),
};
const items: Shape = {
  expected: 'a schema',
  // Drafts before 2020-12 allowed a list of schemas.
  isRight: (value) => one.isRight(value) || Array.isArray(value),
  children: (value) => (Array.isArray(value) ? several : one).children!(value),
};

const shapes: Record<string, Shape> = {
  type,
  enum: list,
  required: names,
  $ref: text,
  format: text,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  multipleOf: positive,
  uniqueItems: flag,
  pattern: text,
  items,
  additionalItems: one,
  prefixItems: several,
  contains: one,
  not: one,
  if: one,
  then: one,
  else: one,
  propertyNames: one,
  patternProperties: byName,
  dependentRequired: namesByName,
  dependentSchemas: byName,
  dependencies: needs,
  additionalProperties: one,
  anyOf: several,
  oneOf: several,
  allOf: several,
  properties: byName,
  $defs: byName,
  definitions: byName,
};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function encodePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
