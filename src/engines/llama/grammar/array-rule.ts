import { type ArrayShape, readArrayShape } from './array-shape.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, Element, GrammarBuilder } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
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
  if (schema.uniqueItems === true && max > 1) {
    const unique = places.length === 0 ? uniqueRule(conversion, shape, pointer) : undefined;
    if (unique) return b.rule([[...open, unique, ...close]]);
    unheld(pointer, 'uniqueItems', 'it takes items with a list of values, and no prefixItems');
  }
  if (max === 0) return b.rule([[...open, ...close]]);
  if (places.length > 0)
    return b.rule([[...open, placesRule(conversion, shape, { pointer, depth }), ...close]]);
  const item = convert(others, `${pointer}/items`, depth);
  const items = b.rule([...(min === 0 ? [[]] : []), [item, following(b, item, min - 1, max - 1)]]);
  return b.rule([[...open, items, ...close]]);
}

/** Between `min` and `max` more items. */
function following(b: GrammarBuilder, item: Element, min: number, max: number): Element {
  return b.repeat([...b.literal(','), item], Math.max(0, min), Math.max(0, max));
}

/** Items each with a place of its own, and the others behind them. */
function placesRule(
  { b, convert }: Conversion,
  { places, others, min, max }: ArrayShape,
  { pointer, depth }: { pointer: string; depth: number },
): Element {
  const count = Math.min(places.length, max);
  const other = convert(others, `${pointer}/items`, depth);
  let rest = following(b, other, min - count, max - count);
  for (let i = count - 1; i >= 0; i--) {
    const item = convert(places[i], `${pointer}/prefixItems/${i}`, depth);
    const here: Alternative = [...(i === 0 ? [] : b.literal(',')), item, rest];
    rest = b.rule(i >= min ? [[], here] : [here]);
  }
  return rest;
}
