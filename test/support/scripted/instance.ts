import { RE2JS } from 're2js';
import { decodeReference, resolvePointer } from '../../../src/base/json-pointer.ts';
import type { JsonSchema } from '../../../src/wire/chat/chat.ts';

/**
 * A small value that meets a JSON Schema: required properties alone, shortest strings, smallest numbers. Supports the keywords
 * of structured output, and patterns that one of a few samples matches.
 */
export function instanceOf(schema: JsonSchema): unknown {
  return build(schema, schema, 0);
}

const samples = [
  '',
  'a',
  'A',
  '0',
  '00',
  '000',
  '0000',
  '00000',
  'abc',
  'ABC',
  'a0',
  'A0',
  'a-a',
  '2026-01-01',
  'a@b.co',
];

const formats: Record<string, string> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'a@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

type Keywords = Record<string, unknown>;

function build(schema: unknown, root: JsonSchema, depth: number): unknown {
  if (depth > 64 || typeof schema !== 'object' || schema === null) return null;
  const { $ref, ...own } = schema as Keywords;
  if (typeof $ref === 'string')
    return build(merge([resolvePointer(root, decodeReference($ref)), own]), root, depth + 1);
  if ('const' in own) return own['const'];
  if (Array.isArray(own['enum'])) return own['enum'][0];
  if (Array.isArray(own['allOf'])) {
    const { allOf, ...rest } = own;
    return build(merge([...(allOf as unknown[]).map((part) => deref(part, root)), rest]), root, depth + 1);
  }
  const branches = own['anyOf'] ?? own['oneOf'];
  if (Array.isArray(branches)) {
    const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = own;
    return build(merge([deref(simplest(branches), root), rest]), root, depth + 1);
  }
  return ofType(own, root, depth);
}

function ofType(own: Keywords, root: JsonSchema, depth: number): unknown {
  const type = Array.isArray(own['type']) ? own['type'][0] : (own['type'] ?? guess(own));
  if (type === 'object') return object(own, root, depth);
  if (type === 'array') return array(own, root, depth);
  if (type === 'string') return string(own);
  if (type === 'number' || type === 'integer') return number(own, type === 'integer');
  return type === 'boolean' ? false : null;
}

function guess(own: Keywords): string {
  if ('properties' in own || 'required' in own) return 'object';
  if ('items' in own || 'prefixItems' in own) return 'array';
  if ('minimum' in own || 'maximum' in own) return 'number';
  return 'string';
}

function object(own: Keywords, root: JsonSchema, depth: number): Keywords {
  const properties = (own['properties'] ?? {}) as Keywords;
  const value: Keywords = {};
  for (const name of (own['required'] ?? []) as string[])
    value[name] = name in properties ? build(properties[name], root, depth + 1) : null;
  return value;
}

function array(own: Keywords, root: JsonSchema, depth: number): unknown[] {
  const prefix = (own['prefixItems'] ?? []) as unknown[];
  const least = Number(own['minItems'] ?? 0);
  const length = Math.max(least, prefix.length);
  return Array.from({ length }, (_, i) => build(prefix[i] ?? own['items'], root, depth + 1));
}

function string(own: Keywords): string {
  const format = formats[String(own['format'])];
  if (format !== undefined) return format;
  const least = Number(own['minLength'] ?? 0);
  const pattern = typeof own['pattern'] === 'string' ? linear(own['pattern']) : null;
  const candidates = pattern ? [...samples, 'a'.repeat(least), '0'.repeat(least)] : [];
  return (
    candidates.find((text) => text.length >= least && pattern!.matcher(text).find()) ?? 'a'.repeat(least)
  );
}

/** Null for a pattern with look-around, which could block this thread. */
function linear(pattern: string): RE2JS | null {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return null;
  }
}

function number(own: Keywords, whole: boolean): number {
  const unit = Number(own['multipleOf'] ?? 1);
  const above = own['exclusiveMinimum'] as number | undefined;
  const below = own['exclusiveMaximum'] as number | undefined;
  const least = Number(own['minimum'] ?? above ?? -Infinity);
  const most = Number(own['maximum'] ?? below ?? Infinity);
  if (allowed(0)) return 0;
  const start = least > -Infinity ? Math.ceil(least / unit) * unit : Math.floor(most / unit) * unit;
  const step = least > -Infinity ? unit : -unit;
  if (allowed(start)) return start;
  return allowed(start + step) || whole ? start + step : (least + most) / 2;

  function allowed(value: number): boolean {
    return value >= least && value <= most && value !== above && value !== below;
  }
}

/** The branch least likely to lead back to itself. */
function simplest(branches: unknown[]): unknown {
  const weight = (branch: unknown) => {
    const { $ref, type } = (branch ?? {}) as Keywords;
    if ($ref !== undefined) return 2;
    return type === 'object' || type === 'array' ? 1 : 0;
  };
  return branches.toSorted((a, b) => weight(a) - weight(b))[0];
}

function merge(parts: unknown[]): Keywords {
  const whole: Keywords = {};
  for (const part of parts as Keywords[]) {
    const properties = { ...(whole['properties'] as Keywords), ...(part?.['properties'] as Keywords) };
    const required = [
      ...((whole['required'] as string[]) ?? []),
      ...((part?.['required'] as string[]) ?? []),
    ];
    Object.assign(whole, part);
    if (Object.keys(properties).length > 0) whole['properties'] = properties;
    if (required.length > 0) whole['required'] = [...new Set(required)];
  }
  return whole;
}

function deref(schema: unknown, root: JsonSchema): unknown {
  const ref = (schema as Keywords | null)?.['$ref'];
  return typeof ref === 'string' ? resolvePointer(root, decodeReference(ref)) : schema;
}
