import type { Ajv } from 'ajv';
import { isObject } from '../../base/fields.ts';

/**
 * Puts implementations that take time in proportion to the text in the place of those of Ajv, which compare each item with
 * each (`uniqueItems`) or with each of thousands of values (`enum`): an answer of 43 kB took seconds.
 */
export function withLinearKeywords<A extends Ajv>(ajv: A): A {
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must NOT have duplicate items' },
    compile: (isAsked: boolean) => (items: unknown[]) =>
      !isAsked || items.length < 2 || new Set(items.map(canonical)).size === items.length,
  });
  ajv.removeKeyword('enum').addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    errors: false,
    error: { message: 'must be equal to one of the allowed values' },
    compile(allowed: unknown[]) {
      if (allowed.length === 0) throw new Error('enum must have non-empty array');
      const known = new Set(allowed.map(canonical));
      return (value: unknown) => known.has(canonical(value));
    },
  });
  return ajv;
}

/** The JSON text of a value that all equal ones share: the order of members does not matter, and 1 and 1.0 are equal. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
