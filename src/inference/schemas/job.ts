import type { ErrorCode } from '../../core/errors.ts';

/** Steps that run together for one org: all schemas of a request, or the check of one answer. */
export interface SchemaJob {
  /** Orgs take turns. */
  orgId: string;
  steps: readonly SchemaStep[];
  /** Processor time limit. */
  limitMs: number;
}

/** A schema to try, or a text to check against one. */
export interface SchemaStep {
  /** Id of the schema; a thread that has compiled it needs no source. */
  number: number;
  /** The schema as JSON text. */
  source: string;
  /** JSON text to check; null to try the schema itself. */
  text: string | null;
}

export type SchemaVerdict =
  | { kind: 'fine' }
  /** The schema is invalid or not supported. `at` is the place in it, such as `#/properties/a/$ref`; empty for the whole. */
  | { kind: 'refused'; code: ErrorCode; at: string; message: string }
  /** The text does not conform. */
  | { kind: 'missed'; how: string }
  /** The step exceeded its time or memory. */
  | { kind: 'too much' };

/** Runs jobs: in threads in the service, in the same thread in the simulation. */
export interface SchemaRunner {
  /** Number of an org's jobs that have not begun. */
  waiting(orgId: string): number;
  /**
   * @param signal cancels a job that has not begun
   * @returns a verdict for each step; after a step that was too much, the rest are missing
   * @throws the signal's reason
   */
  run(job: SchemaJob, signal?: AbortSignal): Promise<SchemaVerdict[]>;
  stop(): Promise<void>;
}

/** A step as a thread gets it: without a source that the thread has already. */
export type PostedStep = Omit<SchemaStep, 'source'> & { source?: string };

export interface ToSchemaWorker {
  steps: PostedStep[];
  /** Numbers of schemas to drop. */
  forget: number[];
}

/** A verdict for each step, in order. The first message, without a verdict, means that the thread is ready. */
export interface FromSchemaWorker {
  verdict: SchemaVerdict | null;
  /** Processor time of the thread so far, in milliseconds. */
  spentMs: number;
}
