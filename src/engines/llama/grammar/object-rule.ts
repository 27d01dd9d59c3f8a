import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { Schema, SchemaObject } from './keywords.ts';
import { otherMembers } from './other-members.ts';

/** A member with a name that the schema spells out. */
interface Member {
  name: string;
  value: Schema | undefined;
  isRequired: boolean;
}

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where `additionalProperties` or
 * `patternProperties` say more than false, members with other names. Of how many there are to be, only that there must be one is
 * held.
 */
export function objectRule(conversion: Conversion, schema: SchemaObject): Element {
  const { b, convert } = conversion;
  const [open, close, comma] = [b.literal('{'), b.literal('}'), b.literal(',')];
  const members = readMembers(schema);
  const others = otherMembers(
    conversion,
    schema,
    members.map(({ name }) => name),
  );
  const mayBeEmpty = !((schema.minProperties as number | undefined) ?? 0);
  // What may come behind a member, and where there was none yet: from the last place to the first.
  let behind = others ? b.repeat([...comma, others], 0, Infinity) : b.rule([[]]);
  let first = b.rule([...(mayBeEmpty ? [[]] : []), ...(others ? [[others, behind]] : [])]);
  for (const { name, value, isRequired } of members.toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value)]]);
    const orSkipped = (rest: Element) => (isRequired ? [] : [[rest]]);
    first = b.rule([[member, behind], ...orSkipped(first)]);
    behind = b.rule([[...comma, member, behind], ...orSkipped(behind)]);
  }
  return b.rule([[...open, first, ...close]]);
}

function readMembers(schema: SchemaObject): Member[] {
  const properties = (schema.properties as Record<string, Schema> | undefined) ?? {};
  const wanted = new Set((schema.required as string[] | undefined) ?? []);
  const named = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    isRequired: wanted.has(name),
  }));
  // One that must come and has no property of its own is an additional one, or else of a pattern, which is checked afterwards.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : (schema.additionalProperties as Schema | undefined);
  const unnamed = [...wanted].filter((name) => !Object.hasOwn(properties, name));
  return [...named, ...unnamed.map((name) => ({ name, value, isRequired: true }))];
}
