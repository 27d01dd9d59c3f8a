import { type Conversion, counts } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import { otherMembers } from './other-members.ts';

/**
 * Members in the order of `properties`, each at most once, then members with other names as far as `additionalProperties`
 * and `patternProperties` allow them. Their number is enforced if the schema names no member; else only that there is one.
 */
export function objectRule(conversion: Conversion, schema: SchemaObject): Element {
  const { b, convert } = conversion;
  const [least, most] = counts(schema, 'Properties');
  if (most < least) return b.rule([]);
  const [open, close, comma] = [b.literal('{'), b.literal('}'), b.literal(',')];
  if (most === 0) return b.rule([[...open, ...close]]);
  const members = membersOf(schema);
  const required = new Set(schema.required as string[] | undefined);
  const others = otherMembers(conversion, schema, Object.keys(members));
  const [fewest, all] = Object.keys(members).length === 0 ? [least, most] : [0, Infinity];
  // Continuations after a member, and before the first one: built from the last member to the first.
  let behind = others ? b.repeat([...comma, others], Math.max(0, fewest - 1), all - 1) : b.rule([[]]);
  let first = b.rule([...(least === 0 ? [[]] : []), ...(others ? [[others, behind]] : [])]);
  for (const [name, value] of Object.entries(members).toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value)]]);
    const orSkipped = (rest: Element) => (required.has(name) ? [] : [[rest]]);
    first = b.rule([[member, behind], ...orSkipped(first)]);
    behind = b.rule([[...comma, member, behind], ...orSkipped(behind)]);
  }
  return b.rule([[...open, first, ...close]]);
}

/** Schemas of the members that the schema names. */
function membersOf(schema: SchemaObject): Record<string, Schema | undefined> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const unnamed = ((schema.required ?? []) as string[]).filter((name) => !Object.hasOwn(properties, name));
  // A required member without a property is an additional one, or one of a pattern, which the check of the answer covers.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : (schema.additionalProperties as Schema | undefined);
  return { ...properties, ...Object.fromEntries(unnamed.map((name) => [name, value])) };
}
