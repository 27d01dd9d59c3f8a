import { type Conversion, counts } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';

/** Rule of an array by `prefixItems`, `items`, `minItems` and `maxItems`. */
export function arrayRule({ b, convert }: Conversion, schema: SchemaObject): Element {
  const places = (schema.prefixItems ?? []) as Schema[];
  const [min, max] = counts(schema, 'Items');
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  if (max === 0) return b.rule([[...open, ...close]]);
  const other = convert(schema.items as Schema | undefined);
  // Items with a place of their own; the others follow.
  const count = Math.min(Math.max(1, places.length), max);
  let rest = b.repeat([...b.literal(','), other], Math.max(0, min - count), max - count);
  for (let i = count - 1; i >= 0; i--) {
    const item = i < places.length ? convert(places[i]) : other;
    const here: Alternative = [...(i === 0 ? [] : b.literal(',')), item, rest];
    rest = b.rule(i >= min ? [[], here] : [here]);
  }
  return b.rule([[...open, rest, ...close]]);
}
