import { isObject } from '../../../base/fields.ts';
import { type Conversion, repeatCount } from './conversion.ts';
import type { Alternative, Element, GrammarBuilder } from './grammar.ts';
import { normal, type SchemaObject, type Walk } from './merge.ts';

export function arrayRule(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
  depth: number,
): Element {
  const { b, convert } = conversion;
  const places = (schema.prefixItems ?? []) as unknown[];
  const min = repeatCount(conversion, schema, 'minItems', pointer) ?? 0;
  const asked = repeatCount(conversion, schema, 'maxItems', pointer) ?? Infinity;
  const max =
    schema.uniqueItems === true ? Math.min(asked, differentItems(conversion, schema, pointer)) : asked;
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  if (max === 0) return b.rule([[...open, ...close]]);
  const other = convert(schema.items, `${pointer}/items`, depth);
  // Items each with a place of its own, and the others behind them.
  const count = Math.min(Math.max(1, places.length), max);
  let rest = following(b, other, min - count, max - count);
  for (let i = count - 1; i >= 0; i--) {
    const item = i < places.length ? convert(places[i], `${pointer}/prefixItems/${i}`, depth) : other;
    const here: Alternative = [...(i === 0 ? [] : b.literal(',')), item, rest];
    rest = b.rule(i >= min ? [[], here] : [here]);
  }
  return b.rule([[...open, rest, ...close]]);
}

/** Values that are counted: a list of more of them that all differ is left to the check. */
const maxValues = 200;

/** How many items there can be at most when no two are equal, as far as that is easily told. */
function differentItems({ walk }: Conversion, schema: SchemaObject, pointer: string): number {
  const places = (schema.prefixItems ?? []) as unknown[];
  const count = valueCount(schema.items, walk(pointer));
  return count > maxValues ? Infinity : places.length + count;
}

/** Values of a schema, at most. */
function valueCount(given: unknown, walk: Walk): number {
  walk.step();
  if (given === false) return 0;
  if (!isObject(given)) return Infinity;
  const { enum: values, $ref, anyOf, oneOf, type } = normal(given);
  if (values !== undefined) return (values as unknown[]).length;
  if (typeof $ref === 'string') return valueCount(walk.resolve($ref), walk);
  const branches = (anyOf ?? oneOf) as unknown[] | undefined;
  if (branches) return branches.reduce<number>((sum, branch) => sum + valueCount(branch, walk), 0);
  if (type === 'boolean') return 2;
  return type === 'null' ? 1 : Infinity;
}

/** Between `min` and `max` more items. */
function following(b: GrammarBuilder, item: Element, min: number, max: number): Element {
  return b.repeat([...b.literal(','), item], Math.max(0, min), Math.max(0, max));
}
