import type { SchemaNode } from './subschemas.ts';

/** Finds a schema that refers to itself for the same value, so that a check would never end. */
export function findEndlessReference(nodes: Iterable<SchemaNode>): SchemaNode | null {
  const open = new Set<SchemaNode>();
  const closed = new Set<SchemaNode>();
  const visit = (node: SchemaNode): SchemaNode | null => {
    if (open.has(node)) return node;
    if (closed.has(node)) return null;
    open.add(node);
    for (const next of inPlace(node)) {
      const found = visit(next);
      if (found) return found;
    }
    open.delete(node);
    closed.add(node);
    return null;
  };
  for (const node of nodes) {
    const found = visit(node);
    if (found) return found;
  }
  return null;
}

function* inPlace({ ref, children }: SchemaNode): Generator<SchemaNode> {
  if (ref) yield ref;
  for (const { node, applies } of children) if (applies === 'to the value') yield node;
}

/**
 * Number of references after each is replaced by its schema, as some engines do. A cycle cannot be expanded; it counts as its
 * references, once.
 */
export function expandedReferences(root: SchemaNode): number {
  const order = new Map<SchemaNode, number>();
  const lowest = new Map<SchemaNode, number>();
  const stack: SchemaNode[] = [];
  const cycleOf = new Map<SchemaNode, { references: number }>();

  // Tarjan's strongly connected components: a cycle is finished after everything it leads to.
  const visit = (node: SchemaNode): void => {
    order.set(node, order.size);
    lowest.set(node, order.get(node)!);
    stack.push(node);
    for (const next of successors(node)) {
      if (!order.has(next)) visit(next);
      if (!cycleOf.has(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const members = stack.splice(stack.indexOf(node));
    const cycle = { references: 0 };
    for (const member of members) cycleOf.set(member, cycle);
    for (const member of members) cycle.references += leading(member, cycle);
  };

  const leading = (node: SchemaNode, cycle: object): number => {
    let references = node.ref ? 1 : 0;
    for (const next of successors(node)) {
      const other = cycleOf.get(next)!;
      if (other !== cycle) references += other.references;
    }
    return references;
  };

  visit(root);
  return cycleOf.get(root)!.references;
}

function successors({ ref, children }: SchemaNode): SchemaNode[] {
  const nodes = children.filter(({ applies }) => applies !== 'by reference').map(({ node }) => node);
  return ref ? [...nodes, ref] : nodes;
}
