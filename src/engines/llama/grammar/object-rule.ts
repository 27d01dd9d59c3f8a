import { escaped } from '../../../base/json-pointer.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';
import { otherMembers } from './other-members.ts';

/** A member with a name that the schema spells out. */
interface Member {
  name: string;
  value: unknown;
  /** Pointer of its schema. */
  at: string;
  isRequired: boolean;
}

/** Places where a member may stand, times the members counted there: beyond, how many there are is left to the check. */
const maxCounted = 400;

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where
 * `additionalProperties` or `patternProperties` say more than false, members with other names. They are counted as far as
 * `minProperties` and `maxProperties` ask, but for other names that come twice.
 */
export function objectRule(conversion: Conversion, schema: SchemaObject, pointer: string): Element {
  const { b, convert } = conversion;
  const members = readMembers(schema, pointer);
  const [least, most] = countsOf(schema, members.length);
  const names = members.map(({ name }) => name);
  const isAsked = ((schema.minProperties as number | undefined) ?? 0) > names.length;
  const others = otherMembers(conversion, { schema, names, pointer, isAsked });
  /** As many are told apart; with no upper bound, more are as good as the last. */
  const last = most === Infinity ? Math.max(1, least) : most;
  const comma = b.literal(',');
  /** A member behind `count` others, and what follows; nothing where there may be no more. */
  const one = (member: Element, count: number, then: readonly Element[]): Alternative[] => {
    const next = then[count === last && most === Infinity ? count : count + 1];
    return next ? [[...(count === 0 ? [] : comma), member, next]] : [];
  };
  // What may come behind so many members: from the last place to the first.
  const declared = Array.from({ length: last + 1 }, () => b.declare());
  let rest: readonly Element[] = declared.map(({ element }) => element);
  for (const [count, { define }] of declared.entries())
    define([...(count >= least ? [[]] : []), ...(others ? one(others, count, rest) : [])]);
  for (const { name, value, at, isRequired } of members.toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value, at)]]);
    const behind = rest;
    rest = behind.map((skipped, count) =>
      b.rule([...one(member, count, behind), ...(isRequired ? [] : [[skipped]])]),
    );
  }
  return b.rule([[...b.literal('{'), rest[0]!, ...b.literal('}')]]);
}

function countsOf(schema: SchemaObject, names: number): [least: number, most: number] {
  const least = (schema.minProperties as number | undefined) ?? 0;
  const most = (schema.maxProperties as number | undefined) ?? Infinity;
  const isCounted = (count: number) => (names + 1) * count <= maxCounted;
  return [isCounted(least) ? least : 1, isCounted(most) ? most : Infinity];
}

function readMembers(schema: SchemaObject, pointer: string): Member[] {
  const properties = (schema.properties as Record<string, unknown> | undefined) ?? {};
  const wanted = new Set((schema.required as string[] | undefined) ?? []);
  const named = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    at: `${pointer}/properties/${escaped(name)}`,
    isRequired: wanted.has(name),
  }));
  // One that must come and has no property of its own is an additional one, or else of a pattern, which is checked afterwards.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : schema.additionalProperties;
  const unnamed = [...wanted].filter((name) => !Object.hasOwn(properties, name));
  return [
    ...named,
    ...unnamed.map((name) => ({ name, value, at: `${pointer}/additionalProperties`, isRequired: true })),
  ];
}
