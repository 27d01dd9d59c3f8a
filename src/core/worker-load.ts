import type { Model } from './model.ts';
import type { WaitingCause } from './waiting.ts';

/** Report of a process to the other processes on the database. */
export interface WorkerLoad {
  /** Interactive calls in flight, by model id. */
  interactive: Record<string, number>;
  /** Ids and aliases of served models; absent if unknown, which counts as any. */
  serves?: readonly string[];
  /** Served models, with what other processes need to accept batches for them. */
  models?: readonly Model[];
  /** Reasons why models currently wait, by name. */
  waits?: Record<string, WaitingCause>;
}
