import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { Schema, SchemaObject } from './keywords.ts';
import { otherMembers } from './other-members.ts';

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where `additionalProperties` or
 * `patternProperties` say more than false, members with other names. Of how many there are to be, only that there must be one is
 * held.
 */
export function objectRule(conversion: Conversion, schema: SchemaObject): Element {
  const { b, convert } = conversion;
  const [open, close, comma] = [b.literal('{'), b.literal('}'), b.literal(',')];
  const members = membersOf(schema);
  const required = new Set(schema.required as string[] | undefined);
  const others = otherMembers(conversion, schema, Object.keys(members));
  const mayBeEmpty = !schema.minProperties;
  // What may come behind a member, and where there was none yet: from the last place to the first.
  let behind = others ? b.repeat([...comma, others], 0, Infinity) : b.rule([[]]);
  let first = b.rule([...(mayBeEmpty ? [[]] : []), ...(others ? [[others, behind]] : [])]);
  for (const [name, value] of Object.entries(members).toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value)]]);
    const orSkipped = (rest: Element) => (required.has(name) ? [] : [[rest]]);
    first = b.rule([[member, behind], ...orSkipped(first)]);
    behind = b.rule([[...comma, member, behind], ...orSkipped(behind)]);
  }
  return b.rule([[...open, first, ...close]]);
}

/** The members with names that the schema spells out. */
function membersOf(schema: SchemaObject): Record<string, Schema | undefined> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const unnamed = ((schema.required ?? []) as string[]).filter((name) => !Object.hasOwn(properties, name));
  // One that must come and has no property of its own is an additional one, or else of a pattern, which is checked afterwards.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : (schema.additionalProperties as Schema | undefined);
  return { ...properties, ...Object.fromEntries(unnamed.map((name) => [name, value])) };
}
