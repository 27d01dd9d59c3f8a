import { isObject } from '../../base/fields.ts';
import { escapePointerPart } from '../../base/json-pointer.ts';

/** One place of a schema that is a schema itself. */
export interface SchemaNode {
  /** JSON pointer from the root, such as `#/properties/a`. */
  pointer: string;
  schema: Record<string, unknown>;
  /** Levels of schemas above it. */
  depth: number;
  children: SchemaEdge[];
  /** What `$ref` names, once resolved. */
  ref: SchemaNode | null;
}

export interface SchemaEdge {
  node: SchemaNode;
  applies: Applies;
}

/** What a schema inside another is applied to: the same value, a part of it, or nothing before it is referred to. */
export type Applies = 'to the value' | 'to a part' | 'by reference';

interface Keyword {
  applies: Applies;
  /** A schema or a list of them, or schemas by name. */
  holds: 'schemas' | 'named schemas';
}

const keywords = new Map<string, Keyword>();
for (const [applies, holds, names] of [
  ['to the value', 'schemas', 'allOf anyOf oneOf not if then else'],
  ['to the value', 'named schemas', 'dependentSchemas dependencies'],
  ['to a part', 'schemas', 'items prefixItems additionalItems unevaluatedItems contains contentSchema'],
  ['to a part', 'schemas', 'additionalProperties unevaluatedProperties propertyNames'],
  ['to a part', 'named schemas', 'properties patternProperties'],
  ['by reference', 'named schemas', '$defs definitions'],
] as const)
  for (const name of names.split(' ')) keywords.set(name, { applies, holds });

interface Child {
  value: Record<string, unknown>;
  pointer: string;
  applies: Applies;
}

/**
 * Every schema inside `schema`, found by the keywords that hold schemas: what stands under `enum`, `default` or a name of
 * one's own is data. Booleans and what is no schema at all are left out. One after the other, so that whoever has seen too
 * many need not pay for the rest.
 */
export function* subschemas(schema: Record<string, unknown>, pointer: string): Generator<Child> {
  for (const name of Object.keys(schema)) {
    const keyword = keywords.get(name);
    const value = schema[name];
    if (!keyword || typeof value !== 'object' || value === null) continue;
    const { applies, holds } = keyword;
    const at = `${pointer}/${name}`;
    if (holds === 'schemas' && !Array.isArray(value))
      yield { value: value as Child['value'], pointer: at, applies };
    else if (holds === 'schemas' || !Array.isArray(value))
      for (const [key, each] of Object.entries(value))
        if (isObject(each)) yield { value: each, pointer: `${at}/${escapePointerPart(key)}`, applies };
  }
}
