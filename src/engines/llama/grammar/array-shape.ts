import type { Conversion } from './conversion.ts';
import type { Schema, SchemaObject } from './merge.ts';
import { repeatCount } from './repeat-count.ts';

/** What is said about the items of an array: those with a place of their own, the others, and how many. */
export interface ArrayShape {
  places: readonly Schema[];
  others: Schema | undefined;
  min: number;
  max: number;
}

export function readArrayShape(conversion: Conversion, schema: SchemaObject, pointer: string): ArrayShape {
  return {
    places: (schema.prefixItems as Schema[] | undefined) ?? [],
    others: schema.items as Schema | undefined,
    min: repeatCount(conversion, schema, 'minItems', pointer) ?? 0,
    max: repeatCount(conversion, schema, 'maxItems', pointer) ?? Infinity,
  };
}
