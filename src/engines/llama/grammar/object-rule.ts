import type { Alternative, Element } from './grammar.ts';
import type { Conversion } from './conversion.ts';
import type { SchemaObject } from './merge.ts';
import { type Member, readMembers } from './members.ts';
import { otherMembers } from './other-members.ts';
import { repeatCount } from './repeat-count.ts';

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
  const { b, json } = conversion;
  const members = readMembers(conversion, schema, pointer);
  const limits = memberLimits(conversion, schema, pointer);
  const isBare =
    (schema.additionalProperties ?? true) === true &&
    schema.patternProperties === undefined &&
    (schema.propertyNames ?? true) === true;
  if (members.length === 0 && isBare && limits.min <= 1 && limits.max === Infinity) {
    return limits.min === 0 ? json.object : anyMembers(conversion);
  }
  if (limits.min > members.length + 1) {
    // Names we do not know may come twice, and twice is once.
    conversion.unheld(pointer, 'minProperties', 'only the properties it names are counted, and one more');
  }
  const others = otherMembers(conversion, {
    schema,
    members,
    pointer,
    depth,
    isAsked: limits.min > members.length,
  });
  const inside = membersRule(conversion, {
    members,
    others,
    min: Math.min(limits.min, members.length + 1),
    max: limits.max,
    depth,
  });
  return b.rule([[...b.literal('{'), inside, ...b.literal('}')]]);
}

function memberLimits(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
): { min: number; max: number } {
  return {
    min: repeatCount(conversion, schema, 'minProperties', pointer) ?? 0,
    max: repeatCount(conversion, schema, 'maxProperties', pointer) ?? Infinity,
  };
}

function anyMembers({ b, json }: Conversion): Element {
  const pair = b.rule([[json.string, ...b.literal(':'), json.value]]);
  const more = b.repeat([...b.literal(','), pair], 0, Infinity);
  return b.rule([[...b.literal('{'), pair, more, ...b.literal('}')]]);
}

interface Inside {
  members: readonly Member[];
  others: Element | undefined;
  min: number;
  max: number;
  depth: number;
}

/** A rule for every member and number of members before it; above what is asked for, numbers are not told apart. */
function membersRule({ b, convert }: Conversion, { members, others, min, max, depth }: Inside): Element {
  if (max < min) return b.rule([]);
  const comma = b.literal(',');
  const isBounded = max < (others ? Infinity : members.length);
  const top = isBounded ? max : Math.max(1, Math.min(min, members.length + 1));
  const more = (count: number): number => (isBounded ? count + 1 : Math.min(count + 1, top));
  const lead = (count: number): Alternative => (count === 0 ? [] : comma);
  const has = (count: number): boolean => !isBounded || count < max;

  /** Behind another member, which counts as one however many follow. */
  const behindOthers = new Map<number, Element>();
  function afterOthers(count: number): Element {
    const known = behindOthers.get(count);
    if (known) return known;
    const { element, define } = b.declare();
    behindOthers.set(count, element);
    define(has(count) ? [[], [...comma, others!, afterOthers(more(count))]] : [[]]);
    return element;
  }

  let following = Array.from({ length: top + 1 }, (_, count): Element => {
    const alternatives: Alternative[] = count >= min ? [[]] : [];
    if (others && has(count) && count + 1 >= min) {
      alternatives.push([...lead(count), others, afterOthers(more(count))]);
    }
    return b.rule(alternatives);
  });
  for (let i = members.length - 1; i >= 0; i--) {
    const { name, value, at, isRequired } = members[i]!;
    const text = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value, at, depth)]]);
    const next = following;
    following = next.map((skipped, count) => {
      const alternatives: Alternative[] = has(count) ? [[...lead(count), text, next[more(count)]!]] : [];
      if (!isRequired) alternatives.push([skipped]);
      return b.rule(alternatives);
    });
  }
  return following[0]!;
}
