import type { Fields } from '../../base/fields.ts';
import type { AddedColumn, ColumnType } from './table.ts';

/** Finds the columns of objects, in the order of their appearance, and the narrowest type of each. */
export function createColumnTypes(names: readonly string[] = []) {
  const types = new Map<string, ColumnType | undefined>(names.map((name) => [name, undefined]));
  return {
    add(values: Fields): void {
      for (const name in values) types.set(name, widen(types.get(name), typeOf(values[name])));
    },
    /** Columns without any value are text. */
    columns: (): AddedColumn[] => [...types].map(([name, type = 'string']) => ({ name, type })),
  };
}

function typeOf(value: unknown): ColumnType | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value as ColumnType;
  return 'json';
}

/** Type of both; text for values that have nothing else in common. */
function widen(one: ColumnType | undefined, other: ColumnType | undefined): ColumnType | undefined {
  if (one === other || other === undefined) return one;
  if (one === undefined) return other;
  const isNumber = (type: ColumnType) => type === 'integer' || type === 'number';
  return isNumber(one) && isNumber(other) ? 'number' : 'string';
}
