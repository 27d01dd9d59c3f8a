import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
import { otherMembers } from './other-members.ts';
import { encodePointer } from './pointers.ts';

/** A member with a name that the schema spells out. */
interface Member {
  name: string;
  value: unknown;
  /** Pointer of its schema. */
  at: string;
  isRequired: boolean;
}

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where
 * `additionalProperties` or `patternProperties` say more than false, members with other names.
 */
export function objectRule(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
  depth: number,
): Element {
  const { b, convert } = conversion;
  const members = readMembers(schema, pointer);
  const least = (schema.minProperties as number | undefined) ?? 0;
  const names = members.map(({ name }) => name);
  const others = otherMembers(conversion, { schema, names, pointer, depth, isAsked: least > names.length });
  const comma = b.literal(',');
  // What may come where no member stands yet, and behind one.
  let behind: Element = others ? b.repeat([...comma, others], 0, Infinity) : b.rule([[]]);
  let first: Element = b.rule([...(least === 0 ? [[]] : []), ...(others ? [[others, behind]] : [])]);
  for (const { name, value, at, isRequired } of members.toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value, at, depth)]]);
    first = b.rule([[member, behind], ...(isRequired ? [] : [[first]])]);
    behind = b.rule([[...comma, member, behind], ...(isRequired ? [] : [[behind]])]);
  }
  return b.rule([[...b.literal('{'), first, ...b.literal('}')]]);
}

function readMembers(schema: SchemaObject, pointer: string): Member[] {
  const properties = (schema.properties as Record<string, unknown> | undefined) ?? {};
  const wanted = new Set((schema.required as string[] | undefined) ?? []);
  const named = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    at: `${pointer}/properties/${encodePointer(name)}`,
    isRequired: wanted.has(name),
  }));
  // A required name without a property of its own is an additional property that must come.
  const value = schema.patternProperties === undefined ? schema.additionalProperties : true;
  const at = `${pointer}/additionalProperties`;
  const unnamed = [...wanted].filter((name) => !Object.hasOwn(properties, name));
  return [...named, ...unnamed.map((name) => ({ name, value, at, isRequired: true }))];
}
