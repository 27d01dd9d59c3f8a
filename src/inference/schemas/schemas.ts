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
   * How `text`, which should be JSON, misses the schema; null when it conforms.
   * @throws ApiError `schema_too_complex` when that cannot be found out in the time there is
   */
  fault(text: string): Promise<string | null>;
}

export interface SchemasDeps {
  clock: Clock;
  log: Log;
  runner?: SchemaRunner;
}

/** Of the processor. A refusal of one schema costs less than a second; the schemas of a request share what each adds to it. */
const trialMs = { first: 800, each: 20 } as const;
const checkMs = 2_000;
/** Requests of one org that may wait for their schemas to be tried. */
const maxWaiting = 1_000;
const maxRecords = 4_096;
/** What was too much on a busy or starved machine must not condemn a schema for good, nor may it be tried all the time. */
const timeoutHoldMs = { first: 10_000, most: 600_000 } as const;

interface SchemaRecord {
  /** What threads know it by. */
  readonly number: number;
  verdict: SchemaVerdict | null;
  /** By org that waits for the verdict; each in its own turn, however long others have waited for theirs. */
  readonly trials: Map<string, Trial>;
  /** Of a verdict of too much: the monotonic instant until which it holds, and for how long it was given. */
  until: number;
  heldMs: number;
}

interface Trial {
  verdict: Promise<SchemaVerdict>;
  job: TrialJob;
}

/** What is tried in one go, for all requests of an org that wait for it. */
interface TrialJob {
  waiting: number;
  /** Of those that wait: nobody does any more. */
  left: AbortController;
  done: Promise<unknown>;
}

interface RequestedSchema {
  where: string;
  source: string;
  known: SchemaRecord;
}

export type Schemas = ReturnType<typeof createSchemas>;

/**
 * The one gate that every schema that an answer is checked against passes before any engine sees it. Whether it is within
 * the budget and compiles, and whether answers conform, is found out in threads that may be killed, because that takes time
 * which a stranger decides about. Verdicts are remembered, so that a schema that comes again costs microseconds, a bad one too.
 */
export function createSchemas({ clock, log, runner = createSchemaPool({ clock, log }) }: SchemasDeps) {
  const all = new Map<string, SchemaRecord>();
  let lastNumber = 0;

  function ask(given: GivenSchema): RequestedSchema {
    const source = sourceOf(given);
    return { where: given.where, source, known: knownBy(hash('sha256', source, 'base64')) };
  }

  function knownBy(key: string): SchemaRecord {
    const before = all.get(key);
    const known = before ?? { number: ++lastNumber, verdict: null, trials: new Map(), until: 0, heldMs: 0 };
    // The one asked for last stands last.
    if (before) all.delete(key);
    all.set(key, known);
    if (all.size > maxRecords) all.delete(all.keys().next().value ?? '');
    return known;
  }

  function settled({ verdict, until }: SchemaRecord): SchemaVerdict | null {
    return verdict?.kind === 'too much' && until <= clock.monotonic() ? null : verdict;
  }

  function settle(known: SchemaRecord, verdict: SchemaVerdict): void {
    known.verdict = verdict;
    if (verdict.kind !== 'too much') return;
    known.heldMs = Math.min(timeoutHoldMs.most, known.heldMs * 2 || timeoutHoldMs.first);
    known.until = clock.monotonic() + known.heldMs;
  }

  /** Has the schemas tried that nobody has seen yet: all of them in one job. */
  function tryNew(asked: readonly RequestedSchema[], orgId: string): void {
    const fresh = new Map<SchemaRecord, string>();
    for (const { known, source } of asked)
      if (!settled(known) && known.trials.get(orgId)?.job.left.signal.aborted !== false)
        fresh.set(known, source);
    if (fresh.size === 0) return;
    if (runner.waiting(orgId) >= maxWaiting)
      throw new ApiError(
        'engine_overloaded',
        'Too many of your requests wait for their schemas to be tried.',
        {
          retryAfter: 5,
        },
      );
    const steps = Array.from(fresh, ([{ number }, source]) => ({ number, source, text: null }));
    const limitMs = trialMs.first + trialMs.each * (steps.length - 1);
    const left = new AbortController();
    const verdicts = runner.run({ orgId, steps, limitMs }, left.signal);
    const job: TrialJob = { waiting: 0, left, done: verdicts.catch(() => {}) };
    for (const [at, known] of [...fresh.keys()].entries()) {
      const verdict = verdicts
        .then(({ [at]: own }) => {
          if (own) settle(known, own);
          return own ?? ({ kind: 'too much' } as const);
        })
        .finally(() => known.trials.get(orgId)?.job === job && known.trials.delete(orgId));
      known.trials.set(orgId, { verdict, job });
    }
  }

  /** Keeps a job from being left out for as long as the request is there. */
  function waitFor(job: TrialJob, signal: AbortSignal | undefined): void {
    job.waiting++;
    if (!signal) return;
    const leave = () => --job.waiting === 0 && job.left.abort(signal.reason);
    void job.done.then(onAbort(signal, leave));
  }

  function admitted(
    { where, source, known }: RequestedSchema,
    orgId: string,
    signal: AbortSignal | undefined,
  ): AdmittedSchema {
    return {
      async fault(text) {
        const steps = [{ number: known.number, source, text }];
        const [verdict] = await runner.run({ orgId, steps, limitMs: checkMs }, signal);
        if (verdict?.kind === 'fine') return null;
        if (verdict?.kind === 'missed') return verdict.how;
        settle(known, { kind: 'too much' });
        throw tooMuch(where);
      },
    };
  }

  return {
    /**
     * Admits the schemas of a request, or throws for the first that cannot be.
     * @param orgId who asks: orgs take turns at the threads
     * @param signal that of the request: what only this one waits for is not begun once it has aborted, also for answers
     * @throws ApiError `schema_too_complex`, `unsupported_keyword` or `validation_error` (422), `engine_overloaded` (503);
     * the signal's reason
     */
    async admit(given: readonly GivenSchema[], orgId: string, signal?: AbortSignal) {
      const asked = given.map(ask);
      signal?.throwIfAborted();
      tryNew(asked, orgId);
      const trials = asked.map(({ known }) => (settled(known) ? undefined : known.trials.get(orgId)));
      for (const job of new Set(trials.flatMap((trial) => trial?.job ?? []))) waitFor(job, signal);
      const judged = Promise.all(asked.map(async ({ known }, at) => trials[at]?.verdict ?? settled(known)));
      const verdicts = await (signal ? unlessAborted(judged, signal) : judged);
      return asked.map((each, at) => {
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

/**
 * The text of a schema.
 * @throws ApiError `schema_too_complex` (422) for one that is too large
 */
export function sourceOf({ schema, where }: GivenSchema): string {
  const source = JSON.stringify(schema);
  if (source.length <= schemaLimits.bytes) return source;
  throw invalid(where, `the schema is larger than ${schemaLimits.bytes} bytes`, 'schema_too_complex');
}

/** A batch tries again: a machine that is starved gives up what it could do at another time. */
function tooMuch(where: string): ApiError {
  return new ApiError('schema_too_complex', `${where}: the schema takes too long to compile or to check`, {
    param: where,
    blame: transient,
  });
}

/**
 * Says of one schema why no request with it could ever run, or null: for those who take requests that run later. One
 * whose trial took too long, or did not take place, may pass the next time.
 */
export function createSchemaRefusal(
  schemas: Schemas,
): (given: GivenSchema, orgId: string) => Promise<Fault | null> {
  return async (given, orgId) => {
    try {
      await schemas.admit([given], orgId);
      return null;
    } catch (error) {
      const isFinal = error instanceof ApiError && error.status === 422 && error.blame !== transient;
      return (isFinal && error.faults[0]) || null;
    }
  };
}
