import type { ErrorCode } from '../../core/errors.ts';

/** What is done about schemas in one go, for one org: those of a request are tried together, an answer is checked alone. */
export interface SchemaJob {
  /** Who waits for it: orgs take turns. */
  orgId: string;
  steps: readonly SchemaStep[];
  /** How much of the processor's time it may take. */
  limitMs: number;
}

/** A schema to try, or a text to hold against one. */
export interface SchemaStep {
  /** The schema's own: who has seen it with its source knows it by that. */
  number: number;
  /** The schema as JSON text. */
  source: string;
  /** What should be JSON and conform. Null to try the schema itself. */
  text: string | null;
}

export type SchemaVerdict =
  | { kind: 'fine' }
  /** The schema cannot be used. `at` is the place in it, such as `#/properties/a/$ref`, and empty for the whole. */
  | { kind: 'refused'; code: ErrorCode; at: string; message: string }
  /** The text does not conform. */
  | { kind: 'missed'; how: string }
  /** It took longer, or more memory, than it may. */
  | { kind: 'too much' };

/** Where jobs run: threads in the service, none in the simulation. */
export interface SchemaRunner {
  /** Jobs of an org that did not begin yet. */
  waiting(orgId: string): number;
  /**
   * @param signal when it aborts, a job that did not begin yet is left out
   * @returns a verdict for each step; after one that was too much the rest are missing
   * @throws the signal's reason
   */
  run(job: SchemaJob, signal?: AbortSignal): Promise<SchemaVerdict[]>;
  stop(): Promise<void>;
}

/** A step as a thread gets it: without the source where it has that already. */
export type PostedStep = Omit<SchemaStep, 'source'> & { source?: string };

export interface ToSchemaWorker {
  steps: PostedStep[];
  /** Numbers that will not be asked for again. */
  forget: number[];
}

/** One verdict for each step, in order, as soon as it is known; before them one without, when the thread is ready. */
export interface FromSchemaWorker {
  verdict: SchemaVerdict | null;
  /** Processor time that the thread has taken so far, in milliseconds. */
  spentMs: number;
}
