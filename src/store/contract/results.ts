import type { ResultStream } from '../../core/batch.ts';
import type { Usage } from '../../core/usage.ts';
import type { Lease } from './claim.ts';

/** How one line ended. `body` is the whole output or error line, without its newline. */
export interface LineResult {
  batchId: string;
  line: number;
  stream: ResultStream;
  body: Uint8Array;
  model: string;
  usage: Usage;
  attempts: number;
  /** The error code, or null for output lines. */
  code: string | null;
}

export interface RecordOutcome {
  batchId: string;
  /** Results written. The others were late twins or came after the gate. */
  kept: number;
  /** The batch takes no more results: drop its lines. */
  closed: boolean;
  /** It has the last of its results: it may be closed. */
  complete: boolean;
}

export interface ResultRow {
  /** Place in its stream, from 1, without gaps, in commit order. */
  n: number;
  line: number;
  body: Uint8Array;
}

/** At most so many rows; at least one, and none more once they hold so many bytes. */
export interface PageSize {
  rows: number;
  bytes: number;
}

export interface ErrorSummary {
  code: string;
  count: number;
  /** custom_id-free example: the message of the first such line. */
  example: string;
}

export interface ResultStore {
  /**
   * Records results and finishes chunks in one transaction, under each batch's row lock: the guard, the counter and the
   * sequence at once (batch-engine.md, "Recording"). First result of a line wins.
   */
  record(worker: string, results: LineResult[], finished: Lease[], now: number): Promise<RecordOutcome[]>;
  /** Lines of a closing batch that never got a result, as errors, fenced by the closing lease. False when fenced. */
  recordMissing(worker: string, lease: Lease, results: LineResult[], now: number): Promise<boolean>;
  /** Lines without a result from line `from` on, ascending. */
  missing(batchId: string, from: number, limit: number): Promise<number[]>;
  /** Rows behind `after` of one stream, in order. */
  tail(batchId: string, stream: ResultStream, after: number, most: PageSize): Promise<ResultRow[]>;
  /** As stored at the end of a batch. `picture` has the one of a batch that runs, of the same moment as its counts. */
  errorSummary(batchId: string): Promise<ErrorSummary[]>;
  /** Finished batches whose rows still exist. */
  leftovers(limit: number): Promise<string[]>;
  /**
   * Deletes up to `limit` rows of results and chunks of a finished batch, from the front. True when none is left, false
   * when it has to be called again.
   */
  purge(batchId: string, limit: number): Promise<boolean>;
}
