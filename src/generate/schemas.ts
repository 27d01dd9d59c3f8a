import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, invalid } from '../core/errors.ts';
import { checkSchemaBudget } from './schema-gate.ts';
import { type SchemaJob, SchemaThread, type SchemaVerdict } from './schema-thread.ts';

/**
 * The one gate that every schema of a request passes before any engine sees it (api.md, section 6). Its budget is checked
 * at once; whether it compiles, and whether answers conform, is found out in threads that may be killed, because both
 * run what a stranger wrote. Verdicts are remembered, so that a schema that comes again costs microseconds.
 */
export interface Schemas {
  /**
   * @param where field path of the schema in the request, for errors
   * @throws ApiError `schema_too_complex`, `unsupported_keyword` or `validation_error` (422), `engine_overloaded` (503)
   */
  admit(schema: unknown, where: string): Promise<AdmittedSchema>;
  stop(): Promise<void>;
}

export interface AdmittedSchema {
  /**
   * How `text`, which should be JSON, misses the schema; null when it conforms.
   * @throws ApiError `schema_too_complex` when that cannot be found out in the time there is
   */
  fault(text: string): Promise<string | null>;
}

/** Where the jobs run: two threads in the service, none in the simulation. */
export interface SchemaRunners {
  /** Compiles and tries schemas nobody has seen yet. */
  trial: SchemaRunner;
  /** Checks answers against schemas that passed their trial. */
  check: SchemaRunner;
}

export interface SchemaRunner {
  readonly waiting: number;
  run(job: SchemaJob): Promise<SchemaVerdict>;
  stop(): Promise<void>;
}

export interface SchemasParts {
  clock: Clock;
  log: Log;
  runners?: SchemaRunners;
}

/** With the start of a thread in front of it, a refusal stays under a second and a half. */
const trialMs = 800;
const checkMs = 2_000;
/** New schemas that may wait for their trial; each may take `trialMs`. */
const mostWaiting = 64;
const remembered = 4_096;
/** A slow moment of the machine must not condemn a schema for good. */
const tooMuchForMs = 10_000;

interface Known {
  verdict: Promise<SchemaVerdict>;
  /** Monotonic instant from which on it is tried again. */
  until: number;
}

export function createSchemas({ clock, log, runners: given }: SchemasParts): Schemas {
  const runners: SchemaRunners = given ?? {
    trial: new SchemaThread({ limitMs: trialMs, clock, log }),
    check: new SchemaThread({ limitMs: checkMs, clock, log }),
  };
  const known = new Map<string, Known>();

  function remember(key: string, verdict: Promise<SchemaVerdict>, until: number): void {
    known.delete(key);
    known.set(key, { verdict, until });
    if (known.size > remembered) known.delete(known.keys().next().value ?? '');
  }

  function condemn(key: string): void {
    remember(key, Promise.resolve({ kind: 'too much' }), clock.monotonic() + tooMuchForMs);
  }

  function verdictOn(schema: unknown, text: string, key: string, where: string): Promise<SchemaVerdict> {
    const before = known.get(key);
    if (before && before.until > clock.monotonic()) return before.verdict;
    checkSchemaBudget(schema, where, text);
    if (runners.trial.waiting >= mostWaiting)
      throw new ApiError('engine_overloaded', 'Too many new schemas are waiting to be tried.', {
        retryAfter: 5,
      });
    const verdict = runners.trial.run({ schema: text, text: null });
    remember(key, verdict, Number.POSITIVE_INFINITY);
    verdict.then(
      ({ kind }) => kind === 'too much' && condemn(key),
      () => known.delete(key),
    );
    return verdict;
  }

  return {
    async admit(schema, where) {
      const text = JSON.stringify(schema);
      const key = createHash('sha256').update(text).digest('base64');
      const verdict = await verdictOn(schema, text, key, where);
      if (verdict.kind === 'too much') throw tooMuch(where);
      if (verdict.kind === 'fault')
        throw invalid(where, `not a JSON Schema that can be used: ${verdict.fault}`);
      return {
        async fault(answer) {
          const outcome = await runners.check.run({ schema: text, text: answer });
          if (outcome.kind === 'fine') return null;
          if (outcome.kind === 'fault') return outcome.fault;
          condemn(key);
          throw tooMuch(where);
        },
      };
    },
    async stop() {
      await Promise.all([runners.trial.stop(), runners.check.stop()]);
    },
  };
}

/** A batch tries again: the machine may have been busy. */
function tooMuch(where: string): ApiError {
  return new ApiError('schema_too_complex', `${where}: the schema takes too long to compile or to check`, {
    param: where,
    retry: 'later',
  });
}
