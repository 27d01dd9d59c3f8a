import type { Conversion } from './conversion.ts';
import type { SchemaObject } from './merge.ts';

/** Repeats are unrolled, a rule for each; beyond this they are refused. */
const maxRepeats = 2_000;

/** A count such as `maxItems`, small enough to be unrolled. */
export function repeatCount(
  { fault }: Conversion,
  schema: SchemaObject,
  keyword: string,
  pointer: string,
): number | undefined {
  const value = schema[keyword] as number | undefined;
  if (value === undefined || value <= maxRepeats) return value;
  throw fault(
    `${pointer}/${keyword}`,
    `must not exceed ${maxRepeats} with this engine`,
    'schema_too_complex',
  );
}
