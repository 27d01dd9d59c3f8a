import type { ArrayShape } from './array-shape.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import { type Schema, sameJson } from './merge.ts';
import { satisfies } from './satisfies.ts';

/** Up to so many values the items come in any order; more of them keep the order of the list. */
const freelyOrdered = 8;

/**
 * Items out of a list of values, none of them twice: a rule for every set of values used. Undefined when the items have
 * no list of values.
 */
export function uniqueRule(
  conversion: Conversion,
  { others, min, max }: ArrayShape,
  pointer: string,
): Element | undefined {
  const { b } = conversion;
  const values = valuesOf(others ?? true, conversion, pointer)?.filter(
    (value, i, all) => !all.slice(0, i).some((before) => sameJson(before, value)),
  );
  if (!values) return undefined;
  const texts = values.map((value) => b.rule([b.literal(JSON.stringify(value))]));
  const rules = new Map<string, ReturnType<typeof b.declare>>();
  const isFree = values.length <= freelyOrdered;
  /** With a free order `used` is a set of bits; with a fixed one, how far in the list we are. */
  const ruleFor = (used: number, count: number): Element => {
    const key = `${used},${count}`;
    let rule = rules.get(key);
    if (!rule) rules.set(key, (rule = b.declare()));
    return rule.element;
  };
  const start = ruleFor(0, 0);
  for (const [key, { define }] of rules) {
    const [used, count] = key.split(',').map(Number) as [number, number];
    const lead = count === 0 ? [] : b.literal(',');
    const alternatives: Alternative[] = count >= min ? [[]] : [];
    for (const [i, text] of count < max ? texts.entries() : []) {
      const isUsed = isFree ? (used & (1 << i)) !== 0 : i < used;
      if (!isUsed) alternatives.push([...lead, text, ruleFor(isFree ? used | (1 << i) : i + 1, count + 1)]);
    }
    define(alternatives);
  }
  return start;
}

function valuesOf(
  schema: Schema,
  { walk, strings }: Conversion,
  pointer: string,
  depth = 0,
): unknown[] | undefined {
  if (typeof schema === 'boolean') return schema ? undefined : [];
  const steps = walk(pointer);
  const kept = (values: unknown[]): unknown[] =>
    values.filter((value) => satisfies(value, schema, steps, strings));
  if (Object.hasOwn(schema, 'const')) return kept([schema.const]);
  if (schema.enum !== undefined) return kept(schema.enum as unknown[]);
  if (typeof schema.$ref === 'string' && depth < 16) {
    const inner = valuesOf(steps.resolve(schema.$ref), { walk, strings } as Conversion, pointer, depth + 1);
    return inner && kept(inner);
  }
  const types = [schema.type ?? []].flat();
  if (types.length === 0 || !types.every((type) => type === 'boolean' || type === 'null')) return undefined;
  return kept(types.flatMap((type) => (type === 'null' ? [null] : [true, false])));
}
