import { isObject } from '../../../base/fields.ts';
import { decodeReference, ownField, resolvePointer } from '../../../base/json-pointer.ts';
import { SchemaRejected } from '../schema-limits.ts';
import { addArrayRules } from './array-rules.ts';
import { addCombinedRules } from './combined-rules.ts';
import { emptyNode, fail, holds, type Node } from './evaluate.ts';
import { KeywordReader } from './keyword-reader.ts';
import { addObjectRules } from './object-rules.ts';
import type { CompilePattern } from './patterns.ts';
import { addValueRules } from './value-rules.ts';

/**
 * Compiles a schema within the limits (`checkSchemaLimits`), of the drafts 4 to 2020-12. Every keyword has its meaning in all of
 * them, also alongside `$ref`; a draft matters only where two give the same keyword different meanings.
 * @throws SchemaRejected for a keyword with an invalid value; TooMuch for patterns that are not allowed here
 */
export function compileSchema(root: unknown, compilePattern: CompilePattern): Node {
  const dialect = isObject(root) ? ownField(root, '$schema') : undefined;
  const containsEvaluates = typeof dialect !== 'string' || !dialect.includes('2019-09');
  const nodes = new Map<unknown, Node>();
  const anything = emptyNode();
  const nothing = emptyNode();
  nothing.any.push((_value, run) => fail(run, 'is not allowed'));

  function toNode(schema: unknown, at: string): Node {
    if (schema === true) return anything;
    if (schema === false) return nothing;
    if (!isObject(schema)) throw new SchemaRejected(at, 'expected a schema: an object, true or false');
    const known = nodes.get(schema);
    if (known) return known;
    const node = emptyNode();
    nodes.set(schema, node);
    const reader = new KeywordReader(schema, at, toNode, compilePattern);
    const reference = reader.value('$ref');
    if (typeof reference === 'string') {
      const pointer = decodeReference(reference);
      const target = toNode(resolvePointer(root, pointer), pointer);
      node.combined.push((value, run, seen) => holds(target, value, run, seen));
    }
    addValueRules(node, reader);
    addArrayRules(node, reader, containsEvaluates);
    addObjectRules(node, reader);
    addCombinedRules(node, reader);
    for (const name of ['$defs', 'definitions']) reader.named(name);
    return node;
  }

  return toNode(root, '#');
}
