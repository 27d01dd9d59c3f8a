import { type ArrayShape, readArrayShape } from './array-shape.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import { type Schema, type SchemaObject, mergeSchemas } from './merge.ts';
import { repeatCount } from './repeat-count.ts';
import { uniqueRule } from './unique-rule.ts';

export function arrayRule(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
  depth: number,
): Element {
  const { b, convert, unheld } = conversion;
  const shape = readArrayShape(conversion, schema, pointer);
  const { places, others, min, max } = shape;
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  const wanted = wantedItems(conversion, schema, pointer);
  if (schema.uniqueItems === true && max > 1) {
    const unique = places.length === 0 && !wanted ? uniqueRule(conversion, shape, pointer) : undefined;
    if (unique) return b.rule([[...open, unique, ...close]]);
    unheld(
      pointer,
      'uniqueItems',
      'it takes items with a list of values, and neither prefixItems nor contains',
    );
  }
  if (places.length > 0 || wanted) {
    return b.rule([[...open, placesRule(conversion, shape, { wanted, pointer, depth }), ...close]]);
  }
  if (max === 0) return b.rule([[...open, ...close]]);
  const item = convert(others, `${pointer}/items`, depth);
  const rest = b.repeat([...b.literal(','), item], Math.max(0, min - 1), max - 1);
  const items = b.rule(min === 0 ? [[], [item, rest]] : [[item, rest]]);
  return b.rule([[...open, items, ...close]]);
}

interface Wanted {
  schema: Schema;
  count: number;
}

function wantedItems(conversion: Conversion, schema: SchemaObject, pointer: string): Wanted | undefined {
  const [wanted, ...more] = [schema.contains ?? []].flat() as Schema[];
  if (wanted === undefined) return undefined;
  if (more.length > 0) conversion.unheld(pointer, 'contains', 'it is asked for twice');
  const count = repeatCount(conversion, schema, 'minContains', pointer) ?? 1;
  return count === 0 ? undefined : { schema: wanted, count };
}

/** Items each with a place of its own, and `wanted` among them: a rule for every place and number of them found. */
function placesRule(
  { b, convert, walk }: Conversion,
  { places, others, min, max }: ArrayShape,
  { wanted, pointer, depth }: { wanted: Wanted | undefined; pointer: string; depth: number },
): Element {
  const needed = wanted?.count ?? 0;
  const last = max === Infinity ? Math.max(places.length, min, 1) : max;
  const schemaAt = (i: number): Schema => places[i] ?? others ?? true;
  const pointerAt = (i: number): string =>
    i < places.length ? `${pointer}/prefixItems/${i}` : `${pointer}/items`;
  const plain = Array.from({ length: Math.min(last, places.length) + 1 }, (_, i) =>
    convert(schemaAt(i), pointerAt(i), depth),
  );
  const found = !wanted
    ? []
    : plain.map((_, i) => convert(mergeSchemas(schemaAt(i), wanted.schema, walk(pointer)), pointer, depth));
  const at = (list: readonly Element[], i: number): Element => list[Math.min(i, list.length - 1)]!;
  const comma = b.literal(',');
  const rules = new Map<string, ReturnType<typeof b.declare>>();
  const ruleFor = (i: number, count: number): Element => {
    const key = `${i},${count}`;
    let rule = rules.get(key);
    if (!rule) rules.set(key, (rule = b.declare()));
    return rule.element;
  };
  const start = ruleFor(0, 0);
  // A map grows while it is walked: every rule that is named gets its definition.
  for (const [key, { define }] of rules) {
    const [i, count] = key.split(',').map(Number) as [number, number];
    const next = max === Infinity ? Math.min(i + 1, last) : i + 1;
    const lead = i === 0 ? [] : comma;
    const alternatives: Alternative[] = i >= min && count >= needed ? [[]] : [];
    if (i < max) alternatives.push([...lead, at(plain, i), ruleFor(next, count)]);
    if (i < max && count < needed) alternatives.push([...lead, at(found, i), ruleFor(next, count + 1)]);
    define(alternatives);
  }
  return start;
}
