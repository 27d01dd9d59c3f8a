import type { Fields } from '../../../base/fields.ts';
import { escapePointerPart } from '../../../base/json-pointer.ts';

/** A schema in the form that is evaluated: its rules by the kind of value they apply to. */
export interface Node {
  /** For every value. */
  any: Rule<unknown>[];
  number: Rule<number>[];
  string: Rule<string>[];
  array: Rule<unknown[]>[];
  object: Rule<Fields>[];
  /** Schemas for the same value: `$ref`, `allOf` and the like. */
  combined: Rule<unknown>[];
  /** For the parts that the rules above have not evaluated; null without `unevaluatedItems` and `unevaluatedProperties`. */
  unevaluated: Rule<object> | null;
}

/**
 * Returns false if the value breaks the rule, and calls `fail` for the message.
 * @param seen collects the evaluated parts of the value; null if no `unevaluated` rule needs them
 */
export type Rule<T> = (value: T, run: Run, seen: Seen | null) => boolean;

/** Parts of an object or list that a schema has evaluated. */
export interface Seen {
  all: boolean;
  keys: Set<string | number>;
}

/** One evaluation of a schema. */
export interface Run {
  steps: number;
  readonly maxSteps: number;
  depth: number;
  readonly maxDepth: number;
  /** Faults cost time, so an evaluation records them only when it is repeated for a value that does not conform. */
  readonly records: boolean;
  /** Place in the value; only if faults are recorded. */
  readonly path: (string | number)[];
  /** Fault of the schema that failed last. */
  fault: Fault | null;
}

export interface Fault {
  /** Place in the value. */
  path: readonly (string | number)[];
  how: string;
}

export interface RunLimits {
  /** A step takes a fraction of a microsecond, for most rules. */
  maxSteps: number;
  /** Schemas being evaluated inside each other. */
  maxDepth: number;
}

/** The evaluation exceeds its limits; the value may still conform. */
export class TooMuch extends Error {}

export const emptyNode = (): Node => ({
  any: [],
  number: [],
  string: [],
  array: [],
  object: [],
  combined: [],
  unevaluated: null,
});

export const newSeen = (): Seen => ({ all: false, keys: new Set() });

/**
 * Describes how a value misses a schema, such as `/people/0/age must be >= 0`; null if it conforms.
 * @throws TooMuch
 */
export function faultOf(node: Node, value: unknown, limits: RunLimits): string | null {
  const newRun = (records: boolean): Run => ({
    ...limits,
    records,
    steps: 0,
    depth: 0,
    path: [],
    fault: null,
  });
  if (holds(node, value, newRun(false))) return null;
  const run = newRun(true);
  holds(node, value, run);
  const { path, how } = run.fault ?? { path: [], how: 'does not conform' };
  const place = path.map((part) => `/${escapePointerPart(String(part))}`).join('');
  return `${place || 'the value'} ${how}`;
}

/** Evaluates a schema for a value. */
export function holds(node: Node, value: unknown, run: Run, seen: Seen | null = null): boolean {
  spend(run, 1);
  if (++run.depth > run.maxDepth) throw new TooMuch();
  const own = node.unevaluated ? newSeen() : seen;
  const ok = holdsAll(node, value, run, own);
  if (ok && seen && own !== seen) merge(seen, own!);
  run.depth--;
  return ok;
}

function holdsAll(node: Node, value: unknown, run: Run, seen: Seen | null): boolean {
  for (const rule of node.any) if (!rule(value, run, seen)) return false;
  for (const rule of ofKind(node, value)) if (!rule(value as never, run, seen)) return false;
  for (const rule of node.combined) if (!rule(value, run, seen)) return false;
  const { unevaluated } = node;
  return !unevaluated || typeof value !== 'object' || value === null || unevaluated(value, run, seen);
}

const none: Rule<never>[] = [];

function ofKind(node: Node, value: unknown): Rule<never>[] {
  switch (typeof value) {
    case 'string':
      return node.string;
    case 'number':
      return node.number;
    case 'object':
      if (value === null) return none;
      return Array.isArray(value) ? node.array : node.object;
    default:
      return none;
  }
}

/** Evaluates a schema for a part of the current value. */
export function holdsAt(key: string | number, node: Node, value: unknown, run: Run): boolean {
  if (!run.records) return holds(node, value, run);
  run.path.push(key);
  const ok = holds(node, value, run);
  run.path.pop();
  return ok;
}

/** Records a fault at the current place. */
export function fail(run: Run, how: string): false {
  if (run.records) run.fault = { path: [...run.path], how };
  return false;
}

export function spend(run: Run, steps: number): void {
  run.steps += steps;
  if (run.steps > run.maxSteps) throw new TooMuch();
}

export function merge(into: Seen, from: Seen): void {
  if (from.all) into.all = true;
  for (const key of from.keys) into.keys.add(key);
}
