import type { Ajv } from 'ajv';
import { JsonValueIds } from './json-value-ids.ts';

/**
 * Replaces keywords of Ajv by linear-time implementations. Ajv compares each item with every other (`uniqueItems`) or with each
 * of thousands of values (`enum`), which took seconds for an answer of 43 kB.
 * @param values ids for `uniqueItems`; the caller clears them after each check
 */
export function withLinearKeywords<A extends Ajv>(ajv: A, values: JsonValueIds): A {
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must NOT have duplicate items' },
    compile: (isUnique: boolean) => (items: unknown[]) =>
      !isUnique || items.length < 2 || new Set(items.map((item) => values.idOf(item))).size === items.length,
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
