import type { JsonSchema } from '../../wire/chat/chat.ts';
import { isObject } from '../../base/fields.ts';
import { ownField, decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import { subschemas } from './subschemas.ts';

/** Copies a schema so that its references work at `at` (`#/$defs/a`) in another schema. Data (`enum`, `default`) stays as it is. */
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
    // Definitions may be at places that are no keywords.
    visit(resolvePointer(copy, decodeReference(reference)));
    node['$ref'] = at + reference.slice(1);
  }
  // Only a whole schema has an identifier and a dialect.
  delete copy['$id'];
  delete copy['$schema'];
  return copy;
}
