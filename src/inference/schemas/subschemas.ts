import { isObject } from '../../base/fields.ts';
import { escapePointerPart } from '../../base/json-pointer.ts';

/** A schema inside a schema. */
export interface SchemaNode {
  /** JSON pointer from the root, such as `#/properties/a`. */
  pointer: string;
  schema: Record<string, unknown>;
  /** Number of schemas above it. */
  depth: number;
  children: { node: SchemaNode; applies: Applies }[];
  /** Target of `$ref`, once resolved. */
  ref: SchemaNode | null;
}

/** Target of a subschema: the same value, a part of it, or only where it is referenced. */
export type Applies = 'to the value' | 'to a part' | 'by reference';

/** `schemas`: a schema or a list of them. */
const keywords = new Map<string, { applies: Applies; holds: 'schemas' | 'named schemas' }>();
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
 * Schemas directly inside `schema`, under the keywords that hold schemas. Values of `enum`, `default` and unknown names are data.
 * Lazy, so that a caller that has seen too many can stop.
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
