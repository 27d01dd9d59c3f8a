import { isObject } from '../../base/fields.ts';
import type { Schema, SchemaObject } from './keywords.ts';

/**
 * Removes patterns with look-around or back references, which most servers reject. Returns a schema without such patterns
 * unchanged. The answer is checked against the original patterns.
 */
export function withoutLookAround(schema: Schema): Schema {
  return /\(\?<?[=!]|\\\\[1-9k]/.test(JSON.stringify(schema)) ? (cleaned(schema) as Schema) : schema;
}

const schemasByName = new Set('properties patternProperties $defs definitions dependentSchemas'.split(' '));
const data = new Set(['enum', 'const', 'default', 'examples']);

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isObject(value)) return value;
  const { pattern, patternProperties, ...rest } = value;
  const byPattern = Object.entries(isObject(patternProperties) ? patternProperties : {});
  const kept = byPattern.filter(([name]) => !looksAround(name));
  // Without its pattern, a member becomes an additional one.
  if (kept.length < byPattern.length) delete rest['additionalProperties'];
  const given: SchemaObject = {
    ...rest,
    ...(typeof pattern === 'string' && looksAround(pattern) ? {} : pattern !== undefined && { pattern }),
    ...(kept.length > 0 && { patternProperties: Object.fromEntries(kept) }),
  };
  return Object.fromEntries(
    Object.entries(given).map(([keyword, inner]) => {
      if (data.has(keyword)) return [keyword, inner];
      if (!schemasByName.has(keyword) || !isObject(inner)) return [keyword, cleaned(inner)];
      return [keyword, Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, cleaned(one)]))];
    }),
  );
}

function looksAround(pattern: string): boolean {
  for (const [token] of pattern.matchAll(/\\[\s\S]|\[(?:\\[\s\S]|[^\]])*\]|\(\?<?[=!]/g))
    if (token.startsWith('(') || /^\\[1-9k]$/.test(token)) return true;
  return false;
}
