import type { ResultStream } from '../../core/batch.ts';
import type { AnswerRows } from '../../core/stored-answer.ts';
import type { LineOutcome, LineRun } from '../../core/line.ts';
import type { ExactCost } from '../../core/price.ts';
import type { Usage } from '../../core/usage.ts';
import type { Lease } from './claim.ts';

/** Result of one line. `body` is the output or error line without its newline. */
export interface LineResult {
  batchId: string;
  line: number;
  stream: ResultStream;
  body: Uint8Array;
  model: string;
  usage: Usage;
  /** 0 for an error. */
  cost: ExactCost;
  attempts: number;
  /** Error code; null for outputs. */
  code: string | null;
  run?: LineRun;
  /** Rows that are stored with the result. */
  rows?: AnswerRows;
}

export interface RecordOutcome {
  batchId: string;
  /** Null if the batch is gone. */
  orgId: string | null;
  /** Results written; the others were duplicates or too late. */
  kept: number;
  /** True if the batch accepts no more results. */
  closed: boolean;
  /** True if all results are there. */
  complete: boolean;
}

export interface ResultRow extends LineOutcome {
  /** Position in the stream, from 1 without gaps, in commit order. */
  n: number;
  body: Uint8Array;
}

/** Summary of the result of one line, for filters. */
export interface LineMark extends Pick<LineOutcome, 'line' | 'code'> {
  /** Length of the body. */
  bytes: number;
}

/** Limits of a page. It has at least one row, and ends when its rows reach `bytes`. */
export interface PageSize {
  rows: number;
  bytes: number;
}

export interface ErrorSummary {
  code: string;
  count: number;
  /** Message of the first such line. */
  example: string;
}

export interface ResultStore {
  /**
   * Records results and finishes chunks in one transaction, under the row lock of each batch. The first result of a line wins.
   * @param billedAt time of the bills; `now` if absent
   */
  record(
    worker: string,
    results: LineResult[],
    finished: Lease[],
    now: number,
    billedAt?: number,
  ): Promise<RecordOutcome[]>;
  /** Records errors for the missing lines of a closing batch. False if the closing lease is lost. */
  recordMissing(worker: string, lease: Lease, results: LineResult[], now: number): Promise<boolean>;
  /** Lines from `from` on without a result, ascending. */
  missing(batchId: string, from: number, limit: number): Promise<number[]>;
  /** Rows of a stream after `after`, in order. */
  tail(batchId: string, stream: ResultStream, after: number, page: PageSize): Promise<ResultRow[]>;
  /** Marks of the lines from `from` up to `to`, exclusive, that have a result, in order. */
  marks(batchId: string, from: number, to: number): Promise<LineMark[]>;
  /** Results of these lines, if they have one. */
  ofLines(batchId: string, lines: readonly number[]): Promise<Omit<ResultRow, 'n'>[]>;
  /** Lines that processes hold and that have no result. */
  inFlight(batchId: string): Promise<number[]>;
  /** Error summary of a finished batch; `snapshot` has the current one of any batch. */
  errorSummary(batchId: string): Promise<ErrorSummary[]>;
  /** Finished batches that are not purged. */
  leftovers(limit: number): Promise<string[]>;
  /**
   * Deletes up to `limit` rows of results and chunks of a finished batch, or of requests and chunks of a finished group. True once
   * none is left.
   */
  purge(batchId: string, limit: number): Promise<boolean>;
}
