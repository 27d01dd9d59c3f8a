import { isObject } from '../../base/fields.ts';
import { ownField, decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { findEndlessReference, expandedReferences } from './references.ts';
import { subschemas, type SchemaNode } from './subschemas.ts';

/** What a schema may cost at most (reliability.md, C15): more is refused before any engine or validator sees it. */
export const schemaLimits = {
  bytes: 262_144,
  depth: 32,
  nodes: 2_000,
  expansion: 10_000,
  enumValues: 5_000,
  patternLength: 2_048,
  /** Items or properties that an answer must have at least, and characters. */
  leastItems: 1_000,
  leastLength: 10_000,
} as const;

/** The dialects in use; what an unknown one means by its keywords is not known. */
const dialects = /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/20(19-09|20-12))\/schema#?$/;

/** A schema that is not taken: `at` is the place in it, such as `#/properties/a/$ref`, and empty for the whole. */
export class SchemaRejected extends Error {
  readonly code: ErrorCode;
  readonly at: string;

  constructor(at: string, message: string, code: ErrorCode = 'validation_error') {
    super(message);
    this.at = at;
    this.code = code;
  }
}

/** Keywords that change what references mean, or when a check ends. */
const refused: readonly string[] = ['$dynamicRef', '$recursiveRef', '$async'];

/**
 * Walks a schema without compiling it and refuses what could be turned into a bomb: size, depth, number of schemas, what
 * its `$ref`s unfold to, references that never end or leave the schema, long enums and patterns.
 * @throws SchemaRefused `schema_too_complex`, `unsupported_keyword` or `validation_error`
 */
export function checkSchemaLimits(schema: unknown): void {
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) throw new SchemaRejected('', 'expected a JSON Schema: an object or a boolean');
  const tooComplex = (what: string) => new SchemaRejected('', `the schema ${what}`, 'schema_too_complex');

  const nodes = new Map<string, SchemaNode>();
  const queue: SchemaNode[] = [];
  const add = (value: Record<string, unknown>, pointer: string, depth: number): SchemaNode => {
    const known = nodes.get(pointer);
    if (known) return known;
    if (nodes.size >= schemaLimits.nodes)
      throw tooComplex(`is made of more than ${schemaLimits.nodes} schemas`);
    if (depth > schemaLimits.depth) throw tooComplex(`is nested deeper than ${schemaLimits.depth} levels`);
    const node: SchemaNode = { pointer, schema: value, depth, children: [], ref: null };
    nodes.set(pointer, node);
    queue.push(node);
    return node;
  };

  const dialect = ownField(schema, '$schema');
  if (dialect !== undefined && !(typeof dialect === 'string' && dialects.test(dialect)))
    throw new SchemaRejected(
      '#/$schema',
      'a dialect of JSON Schema that is not known',
      'unsupported_keyword',
    );
  const root = add(schema, '#', 0);
  for (let node = queue.pop(); node; node = queue.pop()) {
    const { pointer, depth } = node;
    checkNode(node);
    for (const { value, pointer: at, applies } of subschemas(node.schema, pointer))
      node.children.push({ node: add(value, at, depth + 1), applies });
    const target = referenced(schema, node);
    // A reference is no level of nesting: what it names has its own.
    if (target) node.ref = add(target.value, target.pointer, 0);
  }
  const endless = findEndlessReference(nodes.values());
  if (endless)
    throw new SchemaRejected(
      endless.pointer,
      'the schema refers to itself without a value in between',
      'schema_too_complex',
    );
  if (expandedReferences(root) > schemaLimits.expansion)
    throw tooComplex(`unfolds to more than ${schemaLimits.expansion} references`);
}

/** The schema that a node's `$ref` names, if it has one. */
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
  if (!isObject(value)) throw new SchemaRejected(at, 'points to no schema');
  return { value, pointer: plain };
}

function checkNode({ schema, pointer }: SchemaNode): void {
  const at = (keyword: string, what: string, code: ErrorCode) =>
    new SchemaRejected(`${pointer}/${keyword}`, what, code);
  const unsupported = (keyword: string, what: string) => at(keyword, what, 'unsupported_keyword');
  const tooComplex = (keyword: string, what: string) => at(keyword, what, 'schema_too_complex');
  for (const keyword of refused)
    if (ownField(schema, keyword) !== undefined) throw unsupported(keyword, 'this keyword is not supported');
  if (pointer !== '#' && typeof ownField(schema, '$id') === 'string')
    throw unsupported('$id', 'only the whole schema may have an identifier');

  const values = ownField(schema, 'enum');
  if (Array.isArray(values) && values.length > schemaLimits.enumValues)
    throw tooComplex('enum', `more than ${schemaLimits.enumValues} values`);
  const patterns: unknown[] = [ownField(schema, 'pattern')];
  const byPattern = ownField(schema, 'patternProperties');
  if (isObject(byPattern)) patterns.push(...Object.keys(byPattern));
  for (const pattern of patterns) {
    if (typeof pattern === 'string' && pattern.length > schemaLimits.patternLength)
      throw tooComplex('pattern', `longer than ${schemaLimits.patternLength} characters`);
  }
  for (const [keyword, most] of [
    ['minItems', schemaLimits.leastItems],
    ['minContains', schemaLimits.leastItems],
    ['minProperties', schemaLimits.leastItems],
    ['minLength', schemaLimits.leastLength],
  ] as const) {
    const least = ownField(schema, keyword);
    if (typeof least === 'number' && least > most) throw tooComplex(keyword, `more than ${most}`);
  }
}
