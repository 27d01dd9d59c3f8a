import { type Schema, type SchemaObject, type Walk } from './merge.ts';
import { constrainsBeyond } from './keywords.ts';

/**
 * A schema for exactly the values that `schema` refuses, or undefined when it cannot be written without `not`. A
 * negated constant or pattern stays a `not`, which the rules of strings, numbers and fixed values know.
 */
export function negate(schema: Schema, walk: Walk, depth = 0): Schema | undefined {
  walk.step();
  if (typeof schema === 'boolean') return !schema;
  if (depth > 16) return undefined;
  const branches: Schema[] = [];
  for (const keyword of Object.keys(schema)) {
    if (!constrainsBeyond({ [keyword]: schema[keyword] }, [])) continue;
    const negated = negators[keyword]?.(
      schema[keyword],
      schema,
      (inner) => negate(inner, walk, depth + 1),
      walk,
    );
    if (negated === undefined) return undefined;
    branches.push(...negated);
  }
  return branches.length === 0 ? false : { anyOf: branches };
}

/** The ways in which a value can break one keyword. */
type Negator = (
  value: unknown,
  schema: SchemaObject,
  negated: (schema: Schema) => Schema | undefined,
  walk: Walk,
) => Schema[] | undefined;

const allTypes = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/** Breaking a bound takes a value of the type the bound is about. */
const bound =
  (type: string, broken: (value: number) => SchemaObject): Negator =>
  (value) => [{ type, ...broken(value as number) }];

const fixed = (values: unknown[]): Schema[] | undefined => {
  if (values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  return [
    { type: ['object', 'array'] },
    { type: ['string', 'number', 'boolean', 'null'], not: { enum: values } },
  ];
};

const negators: Record<string, Negator> = {
  type(value) {
    const types = [value].flat() as string[];
    if (types.includes('integer') && !types.includes('number')) return undefined;
    const others = allTypes.filter((type) => !types.includes(type));
    return others.length === 0 ? [] : [{ type: others }];
  },
  const: (value) => fixed([value]),
  enum: (value) => fixed(value as unknown[]),
  minimum: bound('number', (limit) => ({ exclusiveMaximum: limit })),
  maximum: bound('number', (limit) => ({ exclusiveMinimum: limit })),
  exclusiveMinimum: bound('number', (limit) => ({ maximum: limit })),
  exclusiveMaximum: bound('number', (limit) => ({ minimum: limit })),
  minLength: bound('string', (limit) => (limit > 0 ? { maxLength: limit - 1 } : { not: {} })),
  maxLength: bound('string', (limit) => ({ minLength: limit + 1 })),
  minItems: bound('array', (limit) => (limit > 0 ? { maxItems: limit - 1 } : { not: {} })),
  maxItems: bound('array', (limit) => ({ minItems: limit + 1 })),
  pattern: (value) => [{ type: 'string', not: { pattern: value } }],
  required: (value) => (value as string[]).map((name) => ({ type: 'object', properties: { [name]: false } })),
  properties(value, _schema, negated) {
    const branches: Schema[] = [];
    for (const [name, inner] of Object.entries(value as Record<string, Schema>)) {
      const other = negated(inner);
      if (other === undefined) return undefined;
      branches.push({ type: 'object', required: [name], properties: { [name]: other } });
    }
    return branches;
  },
  not: (value) => [[value].flat().length === 1 ? ([value].flat()[0] as Schema) : { anyOf: value }],
  anyOf(value, _schema, negated) {
    const parts = (value as Schema[]).map(negated);
    return parts.includes(undefined) ? undefined : [{ allOf: parts }];
  },
  allOf(value, _schema, negated) {
    const parts = (value as Schema[]).map(negated);
    return parts.includes(undefined) ? undefined : (parts as Schema[]);
  },
  $ref(value, _schema, negated, walk) {
    const other = negated(walk.resolve(value as string));
    return other === undefined ? undefined : [other];
  },
};
