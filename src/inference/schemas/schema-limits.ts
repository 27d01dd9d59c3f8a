import { isObject } from '../../base/fields.ts';
import { ownField, decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { findEndlessReference, expandedReferences } from './references.ts';
import { subschemas, type SchemaNode } from './subschemas.ts';

/** Limits of a schema (security.md, C15), checked before any engine or validator gets it. */
export const schemaLimits = {
  bytes: 262_144,
  depth: 32,
  nodes: 2_000,
  expansion: 10_000,
  enumValues: 5_000,
  patternLength: 2_048,
  /** Limit for `minItems`, `minContains` and `minProperties`. */
  minItems: 1_000,
  minLength: 10_000,
} as const;

const dialects = /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/20(19-09|20-12))\/schema#?$/;

/** Error of a rejected schema. `at` is the place in it, such as `#/properties/a/$ref`; empty for the whole. */
export class SchemaRejected extends Error {
  readonly code: ErrorCode;
  readonly at: string;

  constructor(at: string, message: string, code: ErrorCode = 'validation_error') {
    super(message);
    this.at = at;
    this.code = code;
  }
}

/** Keywords that change the meaning of references, or make checks asynchronous. */
const unsupportedKeywords: readonly string[] = ['$dynamicRef', '$recursiveRef', '$async'];

/**
 * Rejects schemas that are expensive to compile or check, without compiling them: by size, depth, number of schemas and expanded
 * references, endless or external references, long enums and patterns.
 * @throws SchemaRejected `schema_too_complex`, `unsupported_keyword` or `validation_error`
 */
export function checkSchemaLimits(schema: unknown): void {
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) throw new SchemaRejected('', 'expected a JSON Schema: an object or a boolean');
  const tooComplex = (what: string) => new SchemaRejected('', `the schema ${what}`, 'schema_too_complex');

  const nodes = new Map<string, SchemaNode>();
  const queue: SchemaNode[] = [];
  const add = (value: Record<string, unknown>, pointer: string, depth: number): SchemaNode => {
    const existing = nodes.get(pointer);
    if (existing) return existing;
    if (nodes.size >= schemaLimits.nodes)
      throw tooComplex(`consists of more than ${schemaLimits.nodes} schemas`);
    if (depth > schemaLimits.depth) throw tooComplex(`is nested deeper than ${schemaLimits.depth} levels`);
    const node: SchemaNode = { pointer, schema: value, depth, children: [], ref: null };
    nodes.set(pointer, node);
    queue.push(node);
    return node;
  };

  const dialect = ownField(schema, '$schema');
  if (dialect !== undefined && !(typeof dialect === 'string' && dialects.test(dialect)))
    throw new SchemaRejected('#/$schema', 'unknown dialect of JSON Schema', 'unsupported_keyword');
  const root = add(schema, '#', 0);
  for (let node = queue.pop(); node; node = queue.pop()) {
    const { pointer, depth } = node;
    checkNode(node);
    for (const { value, pointer: at, applies } of subschemas(node.schema, pointer))
      node.children.push({ node: add(value, at, depth + 1), applies });
    const target = referenced(schema, node);
    // A reference adds no depth.
    if (target) node.ref = add(target.value, target.pointer, 0);
  }
  const endless = findEndlessReference(nodes.values());
  if (endless)
    throw new SchemaRejected(
      endless.pointer,
      'the schema refers to itself for the same value',
      'schema_too_complex',
    );
  if (expandedReferences(root) > schemaLimits.expansion)
    throw tooComplex(`expands to more than ${schemaLimits.expansion} references`);
}

/** Target of a node's `$ref`; null without one. */
function referenced(
  root: unknown,
  { schema, pointer }: SchemaNode,
): { value: Record<string, unknown>; pointer: string } | null {
  const reference = ownField(schema, '$ref');
  if (reference === undefined) return null;
  const at = `${pointer}/$ref`;
  if (typeof reference !== 'string') throw new SchemaRejected(at, 'expected a string');
  const plain = decodeReference(reference);
  if (plain !== '#' && !plain.startsWith('#/'))
    throw new SchemaRejected(at, 'only references inside the schema (#/...) are followed');
  const value = resolvePointer(root, plain);
  if (typeof value === 'boolean') return null;
  if (!isObject(value)) throw new SchemaRejected(at, 'does not point to a schema');
  return { value, pointer: plain };
}

function checkNode({ schema, pointer }: SchemaNode): void {
  const at = (keyword: string, what: string, code: ErrorCode) =>
    new SchemaRejected(`${pointer}/${keyword}`, what, code);
  const unsupported = (keyword: string, what: string) => at(keyword, what, 'unsupported_keyword');
  const tooComplex = (keyword: string, what: string) => at(keyword, what, 'schema_too_complex');
  for (const keyword of unsupportedKeywords)
    if (ownField(schema, keyword) !== undefined) throw unsupported(keyword, 'this keyword is not supported');
  if (pointer !== '#' && typeof ownField(schema, '$id') === 'string')
    throw unsupported('$id', 'only the root schema may have an identifier');

  const values = ownField(schema, 'enum');
  if (Array.isArray(values) && values.length > schemaLimits.enumValues)
    throw tooComplex('enum', `more than ${schemaLimits.enumValues} values`);
  const patterns: unknown[] = [ownField(schema, 'pattern')];
  const byPattern = ownField(schema, 'patternProperties');
  if (isObject(byPattern)) patterns.push(...Object.keys(byPattern));
  for (const pattern of patterns)
    if (typeof pattern === 'string' && pattern.length > schemaLimits.patternLength)
      throw tooComplex('pattern', `longer than ${schemaLimits.patternLength} characters`);
  for (const [keyword, max] of [
    ['minItems', schemaLimits.minItems],
    ['minContains', schemaLimits.minItems],
    ['minProperties', schemaLimits.minItems],
    ['minLength', schemaLimits.minLength],
  ] as const) {
    const min = ownField(schema, keyword);
    if (typeof min === 'number' && min > max) throw tooComplex(keyword, `more than ${max}`);
  }
}
