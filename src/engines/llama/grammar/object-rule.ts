import { type Conversion, counts } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import { otherMembers } from './other-members.ts';

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where `additionalProperties` or
 * `patternProperties` say more than false, members with other names. How many there are to be is held where the schema spells
 * out no name; else only that there must be one.
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
  // What may come behind a member, and where there was none yet: from the last place to the first.
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

/** The members with names that the schema spells out. */
function membersOf(schema: SchemaObject): Record<string, Schema | undefined> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const unnamed = ((schema.required ?? []) as string[]).filter((name) => !Object.hasOwn(properties, name));
  // One that must come and has no property of its own is an additional one, or else of a pattern, which is checked afterwards.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : (schema.additionalProperties as Schema | undefined);
  return { ...properties, ...Object.fromEntries(unnamed.map((name) => [name, value])) };
}
