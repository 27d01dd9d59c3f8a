import { type Conversion, repeatCount } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';

export function arrayRule(conversion: Conversion, schema: SchemaObject, pointer: string): Element {
  const { b, convert } = conversion;
  const places = (schema.prefixItems ?? []) as unknown[];
  const min = repeatCount(conversion, schema, 'minItems', pointer) ?? 0;
  const max = repeatCount(conversion, schema, 'maxItems', pointer) ?? Infinity;
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  if (max === 0) return b.rule([[...open, ...close]]);
  const other = convert(schema.items, `${pointer}/items`);
  // Items each with a place of its own, and the others behind them.
  const count = Math.min(Math.max(1, places.length), max);
  let rest = b.repeat([...b.literal(','), other], Math.max(0, min - count), max - count);
  for (let i = count - 1; i >= 0; i--) {
    const item = i < places.length ? convert(places[i], `${pointer}/prefixItems/${i}`) : other;
    const here: Alternative = [...(i === 0 ? [] : b.literal(',')), item, rest];
    rest = b.rule(i >= min ? [[], here] : [here]);
  }
  return b.rule([[...open, rest, ...close]]);
}
