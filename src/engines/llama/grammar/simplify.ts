import { type Schema, type SchemaObject, type Walk, excluded } from './merge.ts';
import { negate } from './negate.ts';

/** The keyword that keeps a schema from being simplified. */
export interface Stuck {
  keyword: string;
  why: string;
}

/**
 * The same schema without conditions: `if`, `not`, `dependentRequired` and `dependentSchemas` become unions of what may
 * be the case, and the tuples and `dependencies` of older drafts their newer forms. What cannot be rewritten is left out
 * and told to `onStuck`. A schema without any of them is returned as it is.
 */
export function simplify(schema: SchemaObject, walk: Walk, onStuck: (stuck: Stuck) => void): SchemaObject {
  if (!conditional.some((keyword) => Object.hasOwn(schema, keyword)) && !Array.isArray(schema.items))
    return schema;
  const {
    if: condition,
    then,
    else: otherwise,
    not,
    dependentRequired,
    dependentSchemas,
    dependencies,
    additionalItems: _,
    ...rest
  } = schema;
  const parts: Schema[] = [];
  if (condition !== undefined) parts.push(...choose(condition as Schema, then, otherwise));
  if (not !== undefined) parts.push(...exclude(not as Schema));
  for (const [name, needed] of entries(dependentRequired, dependencies)) parts.push(depend(name, needed));
  for (const [name, needed] of entries(dependentSchemas)) parts.push(depend(name, needed));
  if (Array.isArray(schema.items)) {
    rest.prefixItems = schema.items;
    rest.items = schema.additionalItems ?? true;
  }
  return parts.length === 0
    ? rest
    : { ...rest, allOf: [...((rest.allOf as Schema[] | undefined) ?? []), ...parts] };

  function choose(met: Schema, consequence: unknown, alternative: unknown): Schema[] {
    if ((consequence ?? true) === true && (alternative ?? true) === true) return [];
    const other = negate(met, walk);
    if (other !== undefined) {
      const yes = { allOf: [met, (consequence ?? true) as Schema] };
      return [{ anyOf: [yes, { allOf: [other, (alternative ?? true) as Schema] }] }];
    }
    onStuck({ keyword: 'if', why: 'the opposite of this condition cannot be written' });
    return [];
  }

  function exclude(unwanted: Schema): Schema[] {
    if (isFixed(schema) || (schema.type !== undefined && isPlain(unwanted)))
      return [{ [excluded]: [unwanted] }];
    const other = negate(unwanted, walk);
    if (other !== undefined) return [other];
    onStuck({ keyword: 'not', why: 'the opposite of this schema cannot be written' });
    return [];
  }

  /** What must hold when there is a member `name`. */
  function depend(name: string, needed: unknown): Schema {
    const present: SchemaObject = Array.isArray(needed)
      ? { type: 'object', required: [name, ...(needed as string[])] }
      : { type: 'object', required: [name], allOf: [needed] };
    const others = ['array', 'string', 'number', 'boolean', 'null'];
    return { anyOf: [{ type: 'object', properties: { [name]: false } }, present, { type: others }] };
  }
}

const conditional = [
  'if',
  'then',
  'else',
  'not',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'additionalItems',
];

function entries(...maps: unknown[]): [string, unknown][] {
  return maps.flatMap((map) => Object.entries((map as Record<string, unknown> | undefined) ?? {}));
}

/** A list of values is filtered by any `not`, whatever it says. */
function isFixed(schema: SchemaObject): boolean {
  return Object.hasOwn(schema, 'const') || schema.enum !== undefined;
}

/** What `negate` leaves behind, beside the types it is about. */
function isPlain(unwanted: Schema): boolean {
  if (typeof unwanted === 'boolean') return false;
  const [keyword, ...more] = Object.keys(unwanted);
  if (more.length > 0) return false;
  return keyword === 'pattern' || (keyword === 'enum' && (unwanted.enum as unknown[]).every(isScalar));
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}
