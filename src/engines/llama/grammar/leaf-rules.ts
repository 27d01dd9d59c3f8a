import type { Conversion } from './conversion.ts';
import { formatRule } from './formats.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
import { type Bounds, BoundsTooFine, integerRange, numberRange } from './number-range.ts';

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

export function stringRule(conversion: Conversion, schema: SchemaObject, pointer: string): Element {
  const { b, json, strict, fault } = conversion;
  const min = repeatCount(conversion, schema, 'minLength', pointer);
  const max = repeatCount(conversion, schema, 'maxLength', pointer);
  const quote = b.literal('"');
  const isFree = min === undefined && max === undefined;
  if (typeof schema.format === 'string') {
    const format = isFree ? formatRule(b, json, schema.format) : undefined;
    if (format) return b.rule([[...quote, format, ...quote]]);
    const what = `the format ${schema.format}${isFree ? '' : ' beside a length'}`;
    if (strict)
      throw fault(`${pointer}/format`, `${what} cannot be held by this engine`, 'unsupported_keyword');
  }
  if (isFree) return json.string;
  if (max !== undefined && max < (min ?? 0)) return b.rule([]);
  return b.rule([[...quote, b.repeat([json.stringCharacter], min ?? 0, max ?? Infinity), ...quote]]);
}

export function numberRule(
  { b, json, fault }: Conversion,
  type: 'integer' | 'number',
  schema: SchemaObject,
  pointer: string,
): Element {
  const bounds = schema as Bounds;
  try {
    return type === 'integer' ? integerRange(b, json, bounds) : numberRange(b, json, bounds);
  } catch (error) {
    if (!(error instanceof BoundsTooFine)) throw error;
    throw fault(pointer, 'its bounds need more digits than a double holds', 'schema_too_complex');
  }
}

export function arrayRule(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
  depth: number,
): Element {
  const { b, json, strict, convert, fault } = conversion;
  const min = repeatCount(conversion, schema, 'minItems', pointer) ?? 0;
  const max = repeatCount(conversion, schema, 'maxItems', pointer) ?? Infinity;
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  if (max === 0) return b.rule([[...open, ...close]]);
  if (Array.isArray(schema.items)) {
    if (!strict) return json.array;
    throw fault(`${pointer}/items`, 'a list of schemas cannot be held by this engine', 'unsupported_keyword');
  }
  const item = convert(schema.items, `${pointer}/items`, depth);
  const rest = b.repeat([...b.literal(','), item], Math.max(0, min - 1), max - 1);
  const items = b.rule(min === 0 ? [[], [item, rest]] : [[item, rest]]);
  return b.rule([[...open, items, ...close]]);
}
