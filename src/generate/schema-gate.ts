import { invalid } from '../core/errors.ts';

/** What a schema may cost at most (reliability.md, C15): more is refused before any engine or validator sees it. */
export const schemaBudget = {
  bytes: 262_144,
  depth: 32,
  nodes: 2_000,
  expansion: 10_000,
  enumValues: 5_000,
  patternLength: 512,
} as const;

/**
 * Walks a schema without compiling it and refuses what could be turned into a bomb: size, depth, number of nodes,
 * what its `$ref`s unfold to, long enums and patterns, remote references.
 * @param where field path of the schema in the request, for the error
 * @throws ApiError `schema_too_complex` or `validation_error` (422) naming the place
 */
export function checkSchemaBudget(schema: unknown, where: string): void {
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema)))
    throw invalid(where, 'expected a JSON Schema: an object or a boolean');
  const tooComplex = (what: string) => invalid(where, `the schema ${what}`, 'schema_too_complex');
  if (JSON.stringify(schema).length > schemaBudget.bytes)
    throw tooComplex(`is larger than ${schemaBudget.bytes} bytes`);

  let nodes = 0;
  const queue: { node: unknown; depth: number; pointer: string }[] = [
    { node: schema, depth: 0, pointer: '#' },
  ];
  for (let at = queue.pop(); at; at = queue.pop()) {
    const { node, depth, pointer } = at;
    if (typeof node !== 'object' || node === null) continue;
    if (++nodes > schemaBudget.nodes) throw tooComplex(`has more than ${schemaBudget.nodes} nodes`);
    if (depth > schemaBudget.depth) throw tooComplex(`is nested deeper than ${schemaBudget.depth} levels`);
    checkNode(node, pointer, where);
    for (const [key, value] of Object.entries(node)) {
      if (key === 'enum' || key === 'const' || key === 'default' || key === 'examples') continue;
      queue.push({ node: value, depth: depth + 1, pointer: `${pointer}/${key}` });
    }
  }
  if (expansion(schema) > schemaBudget.expansion)
    throw tooComplex(`unfolds to more than ${schemaBudget.expansion} references`);
}

function checkNode(node: object, pointer: string, where: string): void {
  const { $ref, enum: values, pattern } = node as Record<string, unknown>;
  if (typeof $ref === 'string' && !$ref.startsWith('#'))
    throw invalid(`${where}${pointer}/$ref`, 'only references inside the schema (#/...) are followed');
  if (Array.isArray(values) && values.length > schemaBudget.enumValues)
    throw invalid(
      `${where}${pointer}/enum`,
      `more than ${schemaBudget.enumValues} values`,
      'schema_too_complex',
    );
  if (typeof pattern === 'string' && pattern.length > schemaBudget.patternLength)
    throw invalid(
      `${where}${pointer}/pattern`,
      `longer than ${schemaBudget.patternLength} characters`,
      'schema_too_complex',
    );
}

/** The most references that any definition unfolds to, with cycles counted once; stops early above the budget. */
function expansion(root: unknown): number {
  const memo = new Map<string, number>();
  const open = new Set<string>();
  const count = (node: unknown): number => {
    let total = 0;
    const queue = [node];
    while (queue.length > 0 && total <= schemaBudget.expansion) {
      const next = queue.pop();
      if (typeof next !== 'object' || next === null) continue;
      const ref = (next as Record<string, unknown>)['$ref'];
      if (typeof ref === 'string') total += 1 + countRef(ref);
      queue.push(...Object.values(next));
    }
    return total;
  };
  const countRef = (ref: string): number => {
    const known = memo.get(ref);
    if (known !== undefined) return known;
    if (open.has(ref)) return 0;
    open.add(ref);
    const total = ref === '#' ? 0 : count(resolve(root, ref));
    open.delete(ref);
    memo.set(ref, total);
    return total;
  };
  return count(root);
}

function resolve(root: unknown, ref: string): unknown {
  let node: unknown = root;
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return node;
}
