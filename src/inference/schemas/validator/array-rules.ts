import { fail, holds, holdsAt, type Node, spend } from './evaluate.ts';
import type { KeywordReader } from './keyword-reader.ts';
import { canonical, isComposed } from './value-rules.ts';

/** Adds the keywords of lists, except `unevaluatedItems`. @param containsEvaluates false in draft 2019-09 */
export function addArrayRules(node: Node, reader: KeywordReader, containsEvaluates: boolean): void {
  const min = reader.count('minItems') ?? 0;
  const max = reader.count('maxItems') ?? Infinity;
  if (min > 0)
    node.array.push(
      (items, run) => items.length >= min || fail(run, `must NOT have fewer than ${min} items`),
    );
  if (max < Infinity)
    node.array.push((items, run) => items.length <= max || fail(run, `must NOT have more than ${max} items`));
  if (reader.boolean('uniqueItems')) addUniqueItems(node);
  addItems(node, reader);
  addContains(node, reader, containsEvaluates);
}

function addUniqueItems(node: Node): void {
  node.array.push((items, run) => {
    const plain = new Set<unknown>();
    const composed = new Set<string>();
    for (const item of items) {
      spend(run, 1);
      if (isComposed(item)) composed.add(canonical(item, run));
      else plain.add(item);
    }
    return plain.size + composed.size === items.length || fail(run, 'must NOT have duplicate items');
  });
}

/** `prefixItems` and `items`, or `items` as a list and `additionalItems`, as in earlier drafts. */
function addItems(node: Node, reader: KeywordReader): void {
  const items = reader.value('items');
  const isList = Array.isArray(items);
  const first =
    (isList ? (items.length > 0 ? reader.schemas('items') : []) : reader.schemas('prefixItems')) ?? [];
  const rest = reader.schema(isList ? 'additionalItems' : 'items');
  if (first.length === 0 && !rest) return;
  node.array.push((list, run, seen) => {
    const end = rest ? list.length : Math.min(first.length, list.length);
    for (let n = 0; n < end; n++) if (!holdsAt(n, first[n] ?? rest!, list[n], run)) return false;
    if (rest && seen) seen.all = true;
    else if (seen) for (let n = 0; n < end; n++) seen.keys.add(n);
    return true;
  });
}

function addContains(node: Node, reader: KeywordReader, containsEvaluates: boolean): void {
  const wanted = reader.schema('contains');
  const min = reader.count('minContains') ?? 1;
  const max = reader.count('maxContains') ?? Infinity;
  if (!wanted) return;
  node.array.push((items, run, seen) => {
    let found = 0;
    for (const [n, item] of items.entries()) {
      if (!holds(wanted, item, run)) continue;
      found++;
      if (containsEvaluates) seen?.keys.add(n);
    }
    if (found < min) return fail(run, `must contain at least ${min} valid item(s)`);
    return found <= max || fail(run, `must contain at most ${max} valid item(s)`);
  });
}
