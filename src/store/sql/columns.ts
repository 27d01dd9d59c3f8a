import type { Words } from '../../base/words.ts';
import type { Value } from '../db.ts';

/** Which columns of a table hold a value of `core/`: `orgId` stands in `org_id`, a list or an object as JSON. */
export interface Columns<T> {
  /** Their names, one by one: a newer version may add a column while this one runs. */
  names: string;
  /** The same for SELECT and RETURNING: rows then have the names of the fields. */
  fields: string;
  count: number;
  /** What goes into them, for INSERT. */
  values: (value: T) => Value[];
  /** The value of a row of `fields`. */
  read: (row: object) => T;
}

/**
 * @example columnsOf<Org>()('id name createdAt')
 * @param json the fields that are kept as JSON
 * @returns a function that takes the names of all fields, several in a text
 */
export function columnsOf<T extends object>(...json: readonly (keyof T & string)[]) {
  return <const L extends readonly string[]>(...lines: L & Whole<L, T>): Columns<T> => {
    const fields = lines.join(' ').split(' ') as (keyof T & string)[];
    const names = fields.map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    return {
      names: names.join(', '),
      fields: fields
        .map((field, at) => (field === names[at] ? field : `${names[at]} AS "${field}"`))
        .join(', '),
      count: fields.length,
      values: (value) =>
        fields.map((field) => {
          const given: unknown = value[field];
          return json.includes(field) && given !== null ? JSON.stringify(given) : (given as Value);
        }),
      read(row) {
        if (json.length === 0) return row as T;
        const value: Record<string, unknown> = { ...row };
        for (const field of json)
          if (value[field] !== null) value[field] = JSON.parse(value[field] as string);
        return value as T;
      },
    };
  };
}

/** Texts that name every field of T, and nothing else. */
type Whole<L extends readonly string[], T> = [
  Exclude<keyof T, Words<L[number]>>,
  Exclude<Words<L[number]>, keyof T>,
] extends [never, never]
  ? L
  : never;
