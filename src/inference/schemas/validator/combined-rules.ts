import { fail, type Fault, holds, holdsAt, merge, newSeen, type Node, type Rule, spend } from './evaluate.ts';
import type { KeywordReader } from './keyword-reader.ts';

/** Adds the keywords with schemas for the same value, and `unevaluatedItems` and `unevaluatedProperties`. */
export function addCombinedRules(node: Node, reader: KeywordReader): void {
  const { combined } = node;
  for (const each of reader.schemas('allOf') ?? [])
    combined.push((value, run, seen) => holds(each, value, run, seen));
  const anyOf = reader.schemas('anyOf');
  if (anyOf) combined.push(branches(anyOf, Infinity));
  const oneOf = reader.schemas('oneOf');
  if (oneOf) combined.push(branches(oneOf, 1));
  const not = reader.schema('not');
  if (not) combined.push((value, run) => !holds(not, value, run) || fail(run, 'must NOT be valid'));
  addCondition(node, reader);
  addUnevaluated(node, reader);
}

/** At least one branch must hold, and at most `max`. */
function branches(nodes: readonly Node[], max: number): Rule<unknown> {
  return (value, run, seen) => {
    let count = 0;
    let closest: Fault | null = null;
    for (const node of nodes) {
      const own = seen && newSeen();
      if (holds(node, value, run, own)) {
        count++;
        if (own) merge(seen, own);
        // Only the parts seen by other branches may still be needed.
        if (count > max || (max > 1 && !seen)) break;
      } else if (run.fault && run.fault.path.length > (closest?.path.length ?? -1)) closest = run.fault;
    }
    if (count > max) return fail(run, 'must match exactly one schema in oneOf');
    if (count === 0 && closest) run.fault = closest;
    return count > 0;
  };
}

function addCondition(node: Node, reader: KeywordReader): void {
  const condition = reader.schema('if');
  const then = reader.schema('then');
  const otherwise = reader.schema('else');
  if (!condition) return;
  node.combined.push((value, run, seen) => {
    const own = seen && newSeen();
    const ok = holds(condition, value, run, own);
    if (ok && own) merge(seen, own);
    const branch = ok ? then : otherwise;
    return !branch || holds(branch, value, run, seen);
  });
}

function addUnevaluated(node: Node, reader: KeywordReader): void {
  const items = reader.schema('unevaluatedItems');
  const properties = reader.schema('unevaluatedProperties');
  if (!items && !properties) return;
  const isRefused = (name: string) => reader.value(name) === false;
  const [noItems, noProperties] = [isRefused('unevaluatedItems'), isRefused('unevaluatedProperties')];
  node.unevaluated = (value, run, seen) => {
    const isList = Array.isArray(value);
    const rest = isList ? items : properties;
    if (!rest || seen!.all) return true;
    const refuses = isList ? noItems : noProperties;
    for (const [name, part] of Object.entries(value)) {
      const key = isList ? Number(name) : name;
      spend(run, 1);
      if (seen!.keys.has(key)) continue;
      if (refuses) return fail(run, `must NOT have unevaluated ${isList ? 'item' : 'property'} '${name}'`);
      if (!holdsAt(key, rest, part, run)) return false;
    }
    seen!.all = true;
    return true;
  };
}
