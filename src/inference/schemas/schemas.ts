import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { ApiError, type Fault, invalid, transient } from '../../core/errors.ts';
import {
  checkQuickly,
  compileQuickly,
  type CompiledSchema,
  maxQuick,
  type SchemaVerdict,
} from './checker.ts';
import { schemaLimits } from './schema-limits.ts';
import { createSchemaThreads, type SchemaThreads } from './threads.ts';

export interface GivenSchema {
  schema: unknown;
  /** Field path of the schema in the request, for errors. */
  where: string;
}

export interface AdmittedSchema {
  /**
   * Describes how JSON text misses the schema; null if it conforms.
   * @throws ApiError `schema_too_complex` if the check takes too long
   */
  fault(text: string): Promise<string | null>;
}

export interface SchemasDeps {
  clock: Clock;
  log: Log;
  threads?: SchemaThreads;
}

/** Processor time limits in a thread. */
const limitMs = { trial: 800, check: 2_000 } as const;
/** Time that a timeout counts: it may be the machine's fault, so it does not last, but repeated trials are limited. */
const holdMs = 60_000;
/** Limits of the schemas that are remembered; a batch usually repeats one. */
const maxKept = { schemas: 256, characters: 1_048_576 } as const;

interface SchemaRecord {
  readonly source: string;
  /** `too much` for a schema whose checks run in threads. */
  compiled: CompiledSchema;
  /** Verdict of a thread about the schema; null before its trial. */
  tried: SchemaVerdict | null;
  /** Monotonic milliseconds until which a timeout counts. */
  until: number;
}

export type Schemas = ReturnType<typeof createSchemas>;

/**
 * Admits every schema that answers are checked against before any engine gets it. The main thread compiles it and checks answers
 * within 2,000 steps. Longer checks, and patterns that may never end, run in threads that can be killed.
 */
export function createSchemas({ clock, log, threads = createSchemaThreads({ clock, log }) }: SchemasDeps) {
  /** By hash, ordered by last use. */
  const kept = new Map<string, SchemaRecord>();
  let characters = 0;

  function recordOf(given: GivenSchema): SchemaRecord {
    const source = sourceOf(given);
    const key = hash('sha256', source, 'base64');
    let record = kept.get(key);
    if (record) kept.delete(key);
    else {
      const isQuick = source.length <= maxQuick.source;
      const compiled: CompiledSchema = isQuick ? compileQuickly(given.schema) : { kind: 'too much' };
      record = { source, compiled, tried: null, until: 0 };
      characters += source.length;
    }
    kept.set(key, record);
    for (const [oldest, { source: old }] of kept) {
      if (kept.size <= maxKept.schemas && characters <= maxKept.characters) break;
      kept.delete(oldest);
      characters -= old.length;
    }
    return record;
  }

  /** Verdict about a schema; null if a thread has to try it. */
  function verdictOf({ compiled, tried, until }: SchemaRecord): SchemaVerdict | null {
    if (compiled.kind === 'refused') return compiled;
    if (tried?.kind === 'too much' && until <= clock.monotonic()) return null;
    return tried ?? (compiled.kind === 'ready' ? { kind: 'fine' } : null);
  }

  function settle(record: SchemaRecord, verdict: SchemaVerdict): void {
    record.tried = verdict;
    record.until = clock.monotonic() + holdMs;
  }

  async function check(record: SchemaRecord, text: string, orgId: string, signal?: AbortSignal) {
    const { source, compiled } = record;
    if (compiled.kind === 'ready' && text.length <= maxQuick.text) {
      const verdict = checkQuickly(compiled.node, text);
      if (verdict.kind !== 'too much') return verdict;
      // Its other answers go to a thread at once.
      record.compiled = verdict;
      record.tried = { kind: 'fine' };
    }
    return threads.within(orgId, signal, (run) => run({ source, text, limitMs: limitMs.check }));
  }

  return {
    /**
     * Admits the schemas of a request, or throws for the first that is rejected.
     * @param orgId orgs take turns at the threads
     * @param signal of the request: ends its waits for a thread
     * @throws ApiError `schema_too_complex`, `unsupported_keyword` or `validation_error` (422), `engine_overloaded` (503);
     * the signal's reason
     */
    async admit(
      given: readonly GivenSchema[],
      orgId: string,
      signal?: AbortSignal,
    ): Promise<AdmittedSchema[]> {
      signal?.throwIfAborted();
      const records = given.map(recordOf);
      for (const record of records) {
        const { source } = record;
        if (!verdictOf(record))
          await threads.within(orgId, signal, async (run) => {
            // Another request may have had it tried meanwhile.
            if (!verdictOf(record)) settle(record, await run({ source, text: null, limitMs: limitMs.trial }));
          });
        if (verdictOf(record)?.kind !== 'fine') break;
      }
      return given.map(({ where }, at) => {
        const record = records[at]!;
        const verdict = verdictOf(record);
        if (verdict?.kind === 'refused') throw invalid(where + verdict.at, verdict.message, verdict.code);
        if (verdict?.kind !== 'fine') throw tooMuch(where);
        return {
          async fault(text) {
            const outcome = await check(record, text, orgId, signal);
            if (outcome.kind === 'fine') return null;
            if (outcome.kind === 'missed') return outcome.how;
            settle(record, { kind: 'too much' });
            throw tooMuch(where);
          },
        };
      });
    },
    stop: () => threads.stop(),
  };
}
/** JSON text of a schema. @throws ApiError `schema_too_complex` (422) for one that is too large */
export function sourceOf({ schema, where }: GivenSchema): string {
  const source = JSON.stringify(schema);
  if (source.length <= schemaLimits.bytes) return source;
  throw invalid(where, `the schema is larger than ${schemaLimits.bytes} bytes`, 'schema_too_complex');
}

/** A transient error, so that batches retry: the machine may only be overloaded. */
function tooMuch(where: string): ApiError {
  return new ApiError('schema_too_complex', `${where}: the schema takes too long to compile or to check`, {
    param: where,
    blame: transient,
  });
}

/** Finds the permanent fault of a schema, for requests that run later; null if it may work. A timeout is not permanent. */
export function createSchemaRefusal(
  schemas: Schemas,
): (given: GivenSchema, orgId: string) => Promise<Fault | null> {
  return async (given, orgId) => {
    try {
      await schemas.admit([given], orgId);
      return null;
    } catch (error) {
      const isPermanent = error instanceof ApiError && error.status === 422 && error.blame !== transient;
      return (isPermanent && error.faults[0]) || null;
    }
  };
}
