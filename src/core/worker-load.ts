import type { Model } from './model.ts';
import type { WaitingCause } from './waiting.ts';

/** What a process on the database tells the others. */
export interface WorkerLoad {
  /** Interactive calls in flight, by model id. */
  interactive: Record<string, number>;
  /** Names of the models it serves, aliases among them. Absent: a version that did not say so, which may serve any. */
  serves?: readonly string[];
  /** The same models, with what it takes to accept batches for them. */
  models?: readonly Model[];
  /** Why it sends no requests of some of them at present, by those names. */
  waits?: Record<string, WaitingCause>;
}
