import type { Service } from '../base/service.ts';
import type { BatchEndpoint, BatchStatus, CreateBatch, ResultStream } from '../core/batch.ts';
import type { Caller } from '../core/org.ts';
import type { BatchQuery } from '../store/contract/batches.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { BatchView, DryRun } from '../wire/batch/present.ts';

/** Batches from creation to their result files (api.md, section 5). Starting it starts the run loop. */
export interface Batches extends Service {
  /** Those that new batches may target here. */
  readonly endpoints: readonly BatchEndpoint[];
  /** What a new batch has until it expires, in milliseconds. */
  readonly windowMs: number;
  create(
    caller: Caller,
    input: CreateBatch,
    creation: IdempotencyToken | undefined,
  ): Promise<{ batch: BatchView; replayed: boolean }>;
  /** Validates, counts and prices without storing anything. */
  dryRun(caller: Caller, input: CreateBatch): Promise<DryRun>;
  get(caller: Caller, id: string): Promise<BatchView>;
  /** `hasMore` in the direction that was asked for. */
  list(caller: Caller, query: BatchQuery): Promise<{ batches: BatchView[]; hasMore: boolean }>;
  /**
   * Removes a batch that has ended, its results, and its input unless that was uploaded by itself. What it cost stays.
   * @throws ApiError `not_found`, `batch_not_finished`
   */
  remove(caller: Caller, id: string): Promise<void>;
  cancel(caller: Caller, id: string): Promise<BatchView>;
  /**
   * Nothing more of the batch is sent until it is resumed; what is in flight lands, and its window goes on.
   * @throws ApiError `not_found`, `batch_not_pausable`
   */
  pause(caller: Caller, id: string): Promise<BatchView>;
  /** @throws ApiError `not_found`, `batch_not_pausable` */
  resume(caller: Caller, id: string): Promise<BatchView>;
  /**
   * A new batch of the requests of a finished one that failed, at the prices of now.
   * @throws ApiError `batch_not_finished`, `nothing_to_retry`; `not_found` also where its input or its errors are gone
   */
  retry(
    caller: Caller,
    id: string,
    creation: IdempotencyToken | undefined,
  ): Promise<{ batch: BatchView; replayed: boolean }>;
  /**
   * The batch as it is, then whenever it has changed, at most once a second, until it is final. Followers of one batch are
   * given the same values. What is returned throws the reason of `signal`, and `shutting_down` when the engine stops.
   * @throws ApiError `not_found`
   */
  follow(caller: Caller, id: string, signal: AbortSignal): Promise<AsyncIterable<BatchView>>;
  /** Result lines behind line `after` that are committed now, byte-identical while running and later. */
  results(caller: Caller, id: string, stream: ResultStream, after: number): Promise<ResultLines>;
}

export interface ResultLines {
  status: BatchStatus;
  /** Whether lines may still follow after the last one of this answer. */
  incomplete: boolean;
  /** The number of the last line of this answer; `after` when it is empty. */
  lastLine: number;
  /** JSONL bytes, each chunk ending with a newline or at any boundary of the file. */
  bytes: AsyncIterable<Uint8Array>;
}
