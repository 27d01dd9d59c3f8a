import { truncate } from '../../base/truncate.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { checkSchemaLimits, SchemaRejected } from './schema-limits.ts';
import { compileSchema } from './validator/compile.ts';
import { faultOf, type Node, type RunLimits, TooMuch } from './validator/evaluate.ts';
import { createPatternCompiler, type PatternLimits } from './validator/patterns.ts';

export type SchemaVerdict =
  | { kind: 'fine' }
  /** The schema is invalid or not supported. `at` is the place in it, such as `#/properties/a/$ref`; empty for the whole. */
  | { kind: 'refused'; code: ErrorCode; at: string; message: string }
  /** The text does not conform. */
  | { kind: 'missed'; how: string }
  /** The schema or the check exceeds its limits. */
  | { kind: 'too much' };

/** A schema that is ready for checks, or the verdict about it. */
export type CompiledSchema =
  | { kind: 'ready'; node: Node }
  | Extract<SchemaVerdict, { kind: 'refused' | 'too much' }>;

type Limits = RunLimits & PatternLimits;

/** Limits of the main thread: about half a millisecond for a check. */
const quick: Limits = { maxSteps: 2_000, maxDepth: 200, maxInstructions: 1_500, backtracking: false };
/** Characters of the longest schema that the main thread compiles, and of the longest text that it checks. */
export const maxQuick = { source: 16_384, text: 32_768 } as const;
/** Limits of a thread, which is killed if it takes too long. */
const unlimited: Limits = {
  maxSteps: Infinity,
  maxDepth: 10_000,
  maxInstructions: Infinity,
  backtracking: true,
};
const maxMessageLength = 300;

/** Compiles a schema within the limits of the main thread. */
export function compileQuickly(schema: unknown): CompiledSchema {
  return compileWithin(quick, schema);
}

/** Checks JSON text within the limits of the main thread. */
export function checkQuickly(node: Node, text: string): SchemaVerdict {
  return checkWithin(quick, node, text);
}

/** Schemas that a thread keeps. */
const maxCompiled = 16;

/** Creates the checker of a thread, without limits of time. */
export function createThreadChecker(): (step: { source: string; text: string | null }) => SchemaVerdict {
  /** By source, ordered by last use. */
  const kept = new Map<string, CompiledSchema>();
  return ({ source, text }) => {
    const compiled = kept.get(source) ?? compileWithin(unlimited, JSON.parse(source));
    kept.delete(source);
    kept.set(source, compiled);
    if (kept.size > maxCompiled) kept.delete(kept.keys().next().value!);
    if (compiled.kind !== 'ready') return compiled;
    return text === null ? { kind: 'fine' } : checkWithin(unlimited, compiled.node, text);
  };
}

function compileWithin(limits: Limits, schema: unknown): CompiledSchema {
  try {
    checkSchemaLimits(schema);
    return { kind: 'ready', node: compileSchema(schema, createPatternCompiler(limits)) };
  } catch (error) {
    if (isTooMuch(error)) return { kind: 'too much' };
    if (!(error instanceof SchemaRejected)) throw error;
    const { code, at, message } = error;
    return { kind: 'refused', code, at, message: shortened(message) };
  }
}

function checkWithin(limits: Limits, node: Node, text: string): SchemaVerdict {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'missed', how: 'it is not JSON' };
  }
  try {
    const how = faultOf(node, value, limits);
    return how === null ? { kind: 'fine' } : { kind: 'missed', how: shortened(how) };
  } catch (error) {
    if (isTooMuch(error)) return { kind: 'too much' };
    throw error;
  }
}

/** A stack overflow says nothing about the schema or the value. */
function isTooMuch(error: unknown): boolean {
  return error instanceof TooMuch || error instanceof RangeError;
}

function shortened(message: string): string {
  return truncate(message, maxMessageLength, '...');
}
