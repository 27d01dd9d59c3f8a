import type { Ajv } from 'ajv';
import { JsonValueIds } from './json-value-ids.ts';

/**
 * Puts implementations that take time in proportion to the text in the place of those of Ajv, which compare each item with
 * each (`uniqueItems`) or with each of thousands of values (`enum`): an answer of 43 kB took seconds.
 * @param values for `uniqueItems`; to be cleared after each check
 */
export function withLinearKeywords<A extends Ajv>(ajv: A, values: JsonValueIds): A {
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must NOT have duplicate items' },
    compile: (isAsked: boolean) => (items: unknown[]) =>
      !isAsked || items.length < 2 || new Set(items.map((item) => values.idOf(item))).size === items.length,
  });
  ajv.removeKeyword('enum').addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    errors: false,
    error: { message: 'must be equal to one of the allowed values' },
    compile(allowed: unknown[]) {
      if (allowed.length === 0) throw new Error('enum must have non-empty array');
      const known = new JsonValueIds();
      const numbers = new Set(allowed.map((value) => known.idOf(value)));
      return (value: unknown) => numbers.has(known.find(value) ?? -1);
    },
  });
  return ajv;
}
