import type { JsonSchema } from '../../wire/chat/chat.ts';
import { isObject } from '../../base/fields.ts';
import { ownField, decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import { subschemas } from './subschemas.ts';

/**
 * A schema whose references work when it stands at `at` (`#/$defs/a`) in another one: `#/...` then means a place in
 * itself. What is data (`enum`, `default`, names of properties) is left alone.
 */
export function relocateSchema(schema: JsonSchema, at: string): JsonSchema {
  if (!isObject(schema)) return schema;
  const copy = structuredClone(schema);
  const seen = new Set<unknown>([copy]);
  const waiting: Record<string, unknown>[] = [copy];
  const visit = (value: unknown) => {
    if (!isObject(value) || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    for (const { value } of subschemas(node, '')) visit(value);
    const reference = ownField(node, '$ref');
    if (typeof reference !== 'string' || !reference.startsWith('#')) continue;
    // Some schemas keep definitions where no keyword leads.
    visit(resolvePointer(copy, decodeReference(reference)));
    node['$ref'] = at + reference.slice(1);
  }
  // The whole has one identifier and one dialect, and they were this schema's own.
  delete copy['$id'];
  delete copy['$schema'];
  return copy;
}
