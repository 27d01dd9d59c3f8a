import type { Words } from '../../base/words.ts';
import type { Queries, Value } from '../db.ts';
import { allIn, slices, tuples } from './statement.ts';

/**
 * Conditions on a row: `{ id, orgId, 'expires_at > ?': now }`. A field must equal the value or be null. Other keys are SQL conditions
 * with their parameters (an OR needs parentheses), ignored if undefined.
 */
export type Where = Readonly<Record<string, Value | readonly Value[] | undefined>>;

/** New values: fields, and SQL with its parameter (`'n = n + ?'`). Undefined values are ignored. */
type Changes<T> = { readonly [Field in keyof T]?: T[Field] | undefined } & Readonly<
  Record<`${string} = ${string}`, Value | undefined>
>;

/** Table, or a part of its columns, mapped to a type: `orgId` is in `org_id`, lists and objects are JSON. */
export interface Table<T, Read = T> {
  /** Columns for SELECT and RETURNING, named as the fields. Never `*`, because a newer version may add columns. */
  fields: string;
  /** Value of a row of `fields`. */
  read: (row: object) => Read;
  /** @param tail SQL after WHERE: order, limit, lock */
  all: (q: Queries, where: Where, tail?: string, params?: readonly Value[]) => Promise<Read[]>;
  first: (q: Queries, where: Where, tail?: string) => Promise<Read | undefined>;
  /** Rows whose field has one of the values. */
  among: (
    q: Queries,
    field: string,
    values: readonly Value[],
    where?: Where,
    tail?: string,
  ) => Promise<Read[]>;
  /** @param tail SQL after VALUES */
  insert: (q: Queries, rows: readonly T[], tail?: string, params?: readonly Value[]) => Promise<object[]>;
  update: (q: Queries, set: Changes<T>, where: Where) => Promise<Read[]>;
  /** Updates rows without reading them, since they may be damaged. Returns their number. */
  change: (q: Queries, set: Changes<T>, where: Where) => Promise<number>;
  /** Returns the number of removed rows. */
  remove: (q: Queries, where: Where) => Promise<number>;
  /** Removes rows and returns them. */
  take: (q: Queries, where: Where) => Promise<Read[]>;
}

export interface TableOptions<T, Unread extends keyof T> {
  /** Fields stored as JSON. */
  json?: readonly (keyof T & string)[];
  /** Values for damaged JSON, so that the rest of the row can be read. */
  damaged?: Partial<T>;
  /** Fields that are written but not read. */
  unread?: readonly Unread[];
}

/**
 * @example tableOf<Org>('orgs')('id name createdAt')
 * @returns function that takes the names of all fields, several per string
 */
export function tableOf<T extends object, Unread extends keyof T = never>(
  name: string,
  { json = [], damaged = {}, unread = [] }: TableOptions<T, Unread> = {},
) {
  type Read = Omit<T, Unread>;

  const encoded = (field: string, value: unknown): Value =>
    (json as readonly string[]).includes(field) && value !== null ? JSON.stringify(value) : (value as Value);

  function read(row: object): Read {
    if (json.length === 0) return row as Read;
    const value: Record<string, unknown> = { ...row };
    for (const field of json)
      if (typeof value[field] === 'string') value[field] = decoded(field, value[field]);
    return value as Read;
  }

  function decoded(field: keyof T & string, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (damaged[field] === undefined) throw error;
      return structuredClone(damaged[field]);
    }
  }

  return <const L extends readonly string[]>(...lines: L & Whole<L, T>): Table<T, Read> => {
    const all = lines.join(' ').split(' ') as (keyof T & string)[];
    const columns = all.map(columnOf).join(', ');
    const fields = all
      .filter((field) => !(unread as readonly (keyof T)[]).includes(field))
      .map((field) => (columnOf(field) === field ? field : `${columnOf(field)} AS "${field}"`))
      .join(', ');

    const select: Table<T, Read>['all'] = async (q, where, tail = '', params = []) => {
      const condition = conditions(where);
      const text = `SELECT ${fields} FROM ${name} WHERE ${condition.sql} ${tail}`;
      return (await q.all(text, [...condition.params, ...params])).map(read);
    };

    const erase = (q: Queries, where: Where, returning: string): Promise<object[]> => {
      const condition = conditions(where);
      return q.all(`DELETE FROM ${name} WHERE ${condition.sql} RETURNING ${returning}`, condition.params);
    };

    const write = (q: Queries, set: Changes<T>, where: Where, returning: string): Promise<object[]> => {
      const condition = conditions(where);
      const changes = Object.entries(set).filter(([, value]) => value !== undefined);
      const sets = changes.map(([text]) => term(text)).join(', ') || `${all[0]} = ${all[0]}`;
      const values = changes.map(([field, value]) => encoded(field, value));
      const text = `UPDATE ${name} SET ${sets} WHERE ${condition.sql} RETURNING ${returning}`;
      return q.all(text, [...values, ...condition.params]);
    };

    return {
      fields,
      read,
      all: select,
      first: async (q, where, tail) => (await select(q, where, tail))[0],
      async among(q, field, values, where = {}, tail = '') {
        const condition = conditions(where);
        const rows = await allIn(
          q,
          values,
          (list) =>
            `SELECT ${fields} FROM ${name} WHERE ${columnOf(field)} IN ${list} AND ${condition.sql} ${tail}`,
          (list) => [...list, ...condition.params],
        );
        return rows.map(read);
      },
      async insert(q, rows, tail = '', more = []) {
        const returned: object[] = [];
        for (const slice of slices(rows, 256)) {
          const text = `INSERT INTO ${name} (${columns}) VALUES ${tuples(slice.length, all.length)} ${tail}`;
          const params = slice.flatMap((row) => all.map((field) => encoded(field, row[field])));
          returned.push(...(await q.all(text, [...params, ...more])));
        }
        return returned;
      },
      update: async (q, set, where) => (await write(q, set, where, fields)).map(read),
      change: async (q, set, where) => (await write(q, set, where, '1')).length,
      remove: async (q, where) => (await erase(q, where, '1')).length,
      take: async (q, where) => (await erase(q, where, fields)).map(read),
    };
  };
}

/** Conditions as SQL with parameters. */
export function conditions(where: Where): { sql: string; params: Value[] } {
  const terms: string[] = [];
  const params: Value[] = [];
  for (const [text, value] of Object.entries(where)) {
    const isField = isName(text);
    if (value === undefined && !isField) continue;
    if (value === null && isField) terms.push(`${columnOf(text)} IS NULL`);
    else {
      terms.push(term(text));
      params.push(...([value].flat() as Value[]));
    }
  }
  return { sql: terms.join(' AND ') || 'TRUE', params };
}

function term(text: string): string {
  return isName(text) ? `${columnOf(text)} = ?` : text;
}

function isName(text: string): boolean {
  return /^\w+$/.test(text);
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Strings that name every field of T and no others. */
type Whole<L extends readonly string[], T> = [
  Exclude<keyof T, Words<L[number]>>,
  Exclude<Words<L[number]>, keyof T>,
] extends [never, never]
  ? L
  : never;
