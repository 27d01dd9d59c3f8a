import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { onAbort, unlessAborted } from '../../base/on-abort.ts';
import { ApiError, type Fault, invalid, transient } from '../../core/errors.ts';
import { schemaLimits } from './schema-limits.ts';
import type { SchemaRunner, SchemaVerdict } from './job.ts';
import { createSchemaPool } from './pool.ts';

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
  runner?: SchemaRunner;
}

/** Processor time limits. The trial of the first schema of a job covers its fixed costs. */
const trialMs = { first: 800, each: 20 } as const;
const checkMs = 2_000;
/** Requests of one org that may wait for trials. */
const maxWaiting = 1_000;
const maxRecords = 4_096;
/** Time that a timeout counts: it may be the machine's fault, so it does not last, but repeated trials are limited. */
const timeoutHoldMs = { initial: 10_000, max: 600_000 } as const;

interface SchemaRecord {
  /** Id of the schema in the threads. */
  readonly number: number;
  verdict: SchemaVerdict | null;
  /** Pending trials by org, because each org waits its own turn. */
  readonly trials: Map<string, { verdict: Promise<SchemaVerdict>; job: TrialJob }>;
  /** Monotonic milliseconds until which a timeout counts, and its duration. */
  until: number;
  holdMs: number;
}

/** A trial job, shared by all requests of an org that wait for it. */
interface TrialJob {
  waiting: number;
  /** Aborts when no request waits any more. */
  abandoned: AbortController;
  done: Promise<unknown>;
}

interface RequestedSchema {
  where: string;
  source: string;
  record: SchemaRecord;
}

export type Schemas = ReturnType<typeof createSchemas>;

/**
 * Admits every schema that answers are checked against before any engine gets it. Limits, compilation and checks run in threads
 * that can be killed, because untrusted schemas determine how long they take. Verdicts are cached, so that a known schema, good
 * or bad, costs microseconds.
 */
export function createSchemas({ clock, log, runner = createSchemaPool({ clock, log }) }: SchemasDeps) {
  const all = new Map<string, SchemaRecord>();
  let lastNumber = 0;

  function toRequested(given: GivenSchema): RequestedSchema {
    const source = sourceOf(given);
    return { where: given.where, source, record: recordOf(hash('sha256', source, 'base64')) };
  }

  function recordOf(key: string): SchemaRecord {
    const before = all.get(key);
    const record = before ?? { number: ++lastNumber, verdict: null, trials: new Map(), until: 0, holdMs: 0 };
    // The map is ordered by last use.
    if (before) all.delete(key);
    all.set(key, record);
    if (all.size > maxRecords) all.delete(all.keys().next().value ?? '');
    return record;
  }

  function settled({ verdict, until }: SchemaRecord): SchemaVerdict | null {
    return verdict?.kind === 'too much' && until <= clock.monotonic() ? null : verdict;
  }

  function settle(record: SchemaRecord, verdict: SchemaVerdict): void {
    record.verdict = verdict;
    if (verdict.kind !== 'too much') return;
    record.holdMs = Math.min(timeoutHoldMs.max, record.holdMs * 2 || timeoutHoldMs.initial);
    record.until = clock.monotonic() + record.holdMs;
  }

  /** Starts one job with all schemas that have neither a verdict nor a pending trial. */
  function tryNew(requested: readonly RequestedSchema[], orgId: string): void {
    const fresh = new Map<SchemaRecord, string>();
    for (const { record, source } of requested)
      if (!settled(record) && record.trials.get(orgId)?.job.abandoned.signal.aborted !== false)
        fresh.set(record, source);
    if (fresh.size === 0) return;
    if (runner.waiting(orgId) >= maxWaiting) {
      const message = 'Too many of your requests are waiting for their schemas to be compiled.';
      throw new ApiError('engine_overloaded', message, { retryAfter: 5 });
    }
    const steps = Array.from(fresh, ([{ number }, source]) => ({ number, source, text: null }));
    const limitMs = trialMs.first + trialMs.each * (steps.length - 1);
    const abandoned = new AbortController();
    const verdicts = runner.run({ orgId, steps, limitMs }, abandoned.signal);
    const job: TrialJob = { waiting: 0, abandoned, done: verdicts.catch(() => {}) };
    for (const [at, record] of [...fresh.keys()].entries()) {
      const verdict = verdicts
        .then(({ [at]: own }) => {
          if (own) settle(record, own);
          return own ?? ({ kind: 'too much' } as const);
        })
        .finally(() => record.trials.get(orgId)?.job === job && record.trials.delete(orgId));
      record.trials.set(orgId, { verdict, job });
    }
  }

  /** Keeps a job from being abandoned while the request is there. */
  function waitFor(job: TrialJob, signal: AbortSignal | undefined): void {
    job.waiting++;
    if (!signal) return;
    const leave = () => --job.waiting === 0 && job.abandoned.abort(signal.reason);
    void job.done.then(onAbort(signal, leave));
  }

  function admitted(
    { where, source, record }: RequestedSchema,
    orgId: string,
    signal: AbortSignal | undefined,
  ): AdmittedSchema {
    return {
      async fault(text) {
        const steps = [{ number: record.number, source, text }];
        const [verdict] = await runner.run({ orgId, steps, limitMs: checkMs }, signal);
        if (verdict?.kind === 'fine') return null;
        if (verdict?.kind === 'missed') return verdict.how;
        settle(record, { kind: 'too much' });
        throw tooMuch(where);
      },
    };
  }

  return {
    /**
     * Admits the schemas of a request, or throws for the first that is rejected.
     * @param orgId orgs take turns at the threads
     * @param signal of the request: cancels trials and checks that have not begun and that no other request waits for
     * @throws ApiError `schema_too_complex`, `unsupported_keyword` or `validation_error` (422), `engine_overloaded` (503);
     * the signal's reason
     */
    async admit(given: readonly GivenSchema[], orgId: string, signal?: AbortSignal) {
      const requested = given.map(toRequested);
      signal?.throwIfAborted();
      tryNew(requested, orgId);
      const trials = requested.map(({ record }) => (settled(record) ? undefined : record.trials.get(orgId)));
      for (const job of new Set(trials.flatMap((trial) => trial?.job ?? []))) waitFor(job, signal);
      const judged = Promise.all(
        requested.map(async ({ record }, at) => trials[at]?.verdict ?? settled(record)),
      );
      const verdicts = await (signal ? unlessAborted(judged, signal) : judged);
      return requested.map((each, at) => {
        const verdict = verdicts[at];
        if (verdict?.kind === 'refused')
          throw invalid(each.where + verdict.at, verdict.message, verdict.code);
        if (verdict?.kind !== 'fine') throw tooMuch(each.where);
        return admitted(each, orgId, signal);
      });
    },
    stop: () => runner.stop(),
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
