import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import { type SchemaObject, excluded } from './merge.ts';
import { multiplesRule } from './multiples.ts';
import { type Bounds, BoundsTooFine, integerRange, numberRange } from './number-range.ts';

export function numberRule(
  conversion: Conversion,
  type: 'integer' | 'number',
  schema: SchemaObject,
  pointer: string,
): Element {
  const { b, json, fault, unheld } = conversion;
  const [step, ...more] = [schema.multipleOf ?? []].flat() as number[];
  const ranges = withoutValues(schema as Bounds, excludedNumbers(schema));
  if (more.length > 0) unheld(pointer, 'multipleOf', 'it is asked for twice');
  try {
    const rules = ranges.map((range) => {
      const multiples = step === undefined ? undefined : multiplesRule(b, { type, range, step });
      if (multiples) return multiples;
      if (step !== undefined) {
        unheld(
          pointer,
          'multipleOf',
          'it takes a whole number of at most 200, or bounds with few multiples between',
        );
      }
      return type === 'integer' ? integerRange(b, json, range) : numberRange(b, json, range);
    });
    return rules.length === 1 ? rules[0]! : b.rule(rules.map((rule) => [rule]));
  } catch (error) {
    if (!(error instanceof BoundsTooFine)) throw error;
    throw fault(pointer, 'its bounds need more digits than a double holds', 'schema_too_complex');
  }
}

function excludedNumbers(schema: SchemaObject): number[] {
  const values = (schema[excluded] ?? []).flatMap((unwanted) =>
    typeof unwanted === 'boolean' ? [] : ((unwanted.enum as unknown[] | undefined) ?? []),
  );
  return [...new Set(values.filter((value) => typeof value === 'number'))].toSorted((a, b) => a - b);
}

/** The ranges that are left of `bounds` between the values. */
function withoutValues(bounds: Bounds, values: readonly number[]): Bounds[] {
  return [undefined, ...values].map((after, i) => {
    const before = values[i];
    const range: Bounds = { ...bounds };
    if (after !== undefined) range.exclusiveMinimum = Math.max(after, bounds.exclusiveMinimum ?? after);
    if (before !== undefined) range.exclusiveMaximum = Math.min(before, bounds.exclusiveMaximum ?? before);
    return range;
  });
}
