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

interface Keywords {
  applies: Applies;
  /** Keywords that hold a schema or a list of them. */
  held: readonly string[];
  /** Keywords that hold schemas by name. */
  named: readonly string[];
}

const applicators: readonly Keywords[] = [
  {
    applies: 'to the value',
    held: ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
    named: ['dependentSchemas', 'dependencies'],
  },
  {
    applies: 'to a part',
    held: [
      'items',
      'prefixItems',
      'additionalItems',
      'unevaluatedItems',
      'contains',
      'additionalProperties',
      'unevaluatedProperties',
      'propertyNames',
      'contentSchema',
    ],
    named: ['properties', 'patternProperties'],
  },
  { applies: 'by reference', held: [], named: ['$defs', 'definitions'] },
];

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
export function* childrenOf(schema: Record<string, unknown>, pointer: string): Generator<Child> {
  for (const { held, named, applies } of applicators) {
    for (const keyword of held) {
      const value = own(schema, keyword);
      const at = `${pointer}/${keyword}`;
      if (isObject(value)) yield { value, pointer: at, applies };
      if (!Array.isArray(value)) continue;
      for (const [index, each] of value.entries())
        if (isObject(each)) yield { value: each, pointer: `${at}/${index}`, applies };
    }
    for (const keyword of named) {
      const value = own(schema, keyword);
      if (!isObject(value)) continue;
      for (const name of Object.keys(value)) {
        const each = value[name];
        if (isObject(each)) yield { value: each, pointer: `${pointer}/${keyword}/${escaped(name)}`, applies };
      }
    }
  }
}

/** What `reference` (`#` or `#/...`) points to in `root`; undefined when there is nothing. */
export function pointedAt(root: unknown, reference: string): unknown {
  let at: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = unescaped(part);
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isObject(at)) at = own(at, name);
    else return undefined;
  }
  return at;
}

/** A reference as the pointers of this module are written: percent signs decoded. */
export function plainReference(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field by any name, `constructor` and `__proto__` included. */
export function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
