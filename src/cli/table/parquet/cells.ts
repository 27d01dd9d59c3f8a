import type { SchemaElement } from 'hyparquet';
import { assembleLists, assembleNested } from 'hyparquet/src/assemble.js';
import { DEFAULT_PARSERS, parseFloat16 } from 'hyparquet/src/convert.js';
import { dayMs } from '../../../base/clock.ts';
import { isObject } from '../../../base/fields.ts';
import type { LeafValues } from './leaf-reader.ts';
import type { ParquetColumn } from './parquet-file.ts';

/** Missing values are null, also within lists and structs. */
function withNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNulls);
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNulls(member)]));
}

type Convert = (value: unknown) => unknown;

/**
 * Makes cells of the values of a column: JSON values without a loss. Dates and times are ISO 8601, decimals and integers outside
 * the range of a number are text, and bytes are base64.
 */
export function cellMaker({
  tree,
  leaves,
  isNested,
}: ParquetColumn): (leaves: readonly LeafValues[]) => unknown[] {
  const converters = leaves.map(({ path }) => leafConverter(path.at(-1)!.element));
  const [convert] = converters as [Convert];
  if (!isNested) return ([only]) => only!.values.map((value) => (value === null ? null : convert(value)));
  return (parts) => {
    const lists = new Map(
      leaves.map(({ path }, index) => {
        const { values, definition, repetition } = parts[index]!;
        const dense = values.filter((value) => value !== null).map(converters[index]!);
        const levels = repetition.length > 0 ? repetition : values.map(() => 0);
        return [path.at(-1)!.path.join('.'), assembleLists([], definition, levels, dense, path)];
      }),
    );
    assembleNested(lists, tree, DEFAULT_PARSERS);
    return Array.from(lists.get(tree.element.name) ?? [], withNulls);
  };
}

const decoder = new TextDecoder();
const textOf = (value: unknown) => decoder.decode(value as Uint8Array);
const base64Of = (value: unknown) => Buffer.from(value as Uint8Array).toString('base64');

function leafConverter(element: SchemaElement): Convert {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const scale = element.scale ?? (logical?.type === 'DECIMAL' ? logical.scale : 0);
    return (value) => decimalText(integerOf(value), scale);
  }
  if (converted === 'DATE' || logical?.type === 'DATE') return (days) => dateText(Number(days));
  const time = timeOf(element);
  if (time !== undefined) return time;
  if (logical?.type === 'UUID') return (value) => DEFAULT_PARSERS.uuidFromBytes(value as Uint8Array);
  if (logical?.type === 'FLOAT16') return (value) => finite(parseFloat16(value as Uint8Array));
  if (converted === 'UTF8' || converted === 'ENUM' || logical?.type === 'STRING') return textOf;
  if (converted === 'JSON' || logical?.type === 'JSON') return (value) => jsonOf(textOf(value));
  if (type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY') return base64Of;
  if (type === 'BOOLEAN') return (value) => value;
  if (type === 'FLOAT' || type === 'DOUBLE') return finite;
  const isUnsigned =
    converted?.startsWith('UINT') === true || (logical?.type === 'INTEGER' && !logical.isSigned);
  const bits = type === 'INT32' ? 32 : 64;
  return (value) => exactNumber(isUnsigned ? BigInt.asUintN(bits, bigOf(value)) : bigOf(value));
}

/** NaN is how pandas writes a missing number. */
function finite(value: unknown): unknown {
  return Number.isFinite(value) ? value : Number.isNaN(value) ? null : String(value);
}

function exactNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Stored integers are numbers or bigints. */
const bigOf = (value: unknown) => BigInt(value as number | bigint);

/** Integer of a decimal: a number, or big-endian bytes in two's complement. */
function integerOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return bigOf(value);
  if (value.length === 0) return 0n;
  return BigInt.asIntN(value.length * 8, BigInt(`0x${Buffer.from(value).toString('hex')}`));
}

function decimalText(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  const sign = value < 0n ? '-' : '';
  const at = digits.length - scale;
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, at)}.${digits.slice(at)}`;
}

function dateText(days: number): string {
  const date = new Date(days * dayMs);
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().split('T')[0]!;
}

const unitsPerSecond = { MILLIS: 1000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n };
type Unit = keyof typeof unitsPerSecond;

/** Converter of times and timestamps. */
function timeOf({
  type,
  converted_type: converted,
  logical_type: logical,
}: SchemaElement): Convert | undefined {
  if (type === 'INT96') return (value) => instantText(int96Nanos(value as bigint), 'NANOS', false);
  if (logical?.type === 'TIMESTAMP') {
    const { unit, isAdjustedToUTC } = logical;
    return (value) => instantText(bigOf(value), unit, isAdjustedToUTC);
  }
  if (logical?.type === 'TIME') return (value) => clockText(bigOf(value), logical.unit);
  const [, kind, unit] = /^(TIMESTAMP|TIME)_(MILLIS|MICROS)$/.exec(converted ?? '') ?? [];
  if (kind === 'TIMESTAMP') return (value) => instantText(bigOf(value), unit as Unit, true);
  return kind === 'TIME' ? (value) => clockText(bigOf(value), unit as Unit) : undefined;
}

/** Nanoseconds since 1970 of a Julian day in the upper 32 bits and nanoseconds of the day in the lower 64. */
export function int96Nanos(value: bigint): bigint {
  return ((value >> 64n) - 2_440_588n) * 86_400_000_000_000n + (value & 0xffff_ffff_ffff_ffffn);
}

function instantText(value: bigint, unit: Unit, isUtc: boolean): string {
  const perSecond = unitsPerSecond[unit];
  const seconds = value / perSecond - (value % perSecond < 0n ? 1n : 0n);
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return value.toString();
  const text = date.toISOString().slice(0, -'.000Z'.length);
  return `${text}${fraction(value - seconds * perSecond, perSecond)}${isUtc ? 'Z' : ''}`;
}

function clockText(value: bigint, unit: Unit): string {
  const perSecond = unitsPerSecond[unit];
  const text = new Date(Number(value / perSecond) * 1000).toISOString().slice(11, 19);
  return `${text}${fraction(value % perSecond, perSecond)}`;
}

function fraction(units: bigint, perSecond: bigint): string {
  if (units === 0n) return '';
  const digits = units.toString().padStart(perSecond.toString().length - 1, '0');
  return `.${digits.replace(/0+$/, '')}`;
}
