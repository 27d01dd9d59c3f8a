import type { Service } from '../base/service.ts';
import type { BatchStatus, CreateBatch, ResultStream } from '../core/batch.ts';
import type { BatchWindows } from '../core/batch-window.ts';
import type { StoredFile } from '../core/file.ts';
import type { Caller } from '../core/org.ts';
import type { Waiting } from '../core/waiting.ts';
import type { ByteRange } from '../files/files.ts';
import type { BatchQuery } from '../store/contract/batches.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { DurableRequests } from './requests/durable-requests.ts';
import type { BatchActions } from './actions/batch-actions.ts';
import type { OpenWorkReport } from './read/open-work.ts';
import type { RetryOptions } from '../wire/batch/retry.ts';
import type { LineDetail, LinePage, LineQuery } from '../wire/batch/lines.ts';
import type { BatchHistory } from '../core/batch-history.ts';
import type { BatchFilters, StreamFilters } from './read/match.ts';
import type { ChangePage } from './watch/batch-changes.ts';
import type { ProcessView } from '../wire/admin/processes.ts';
import type { BatchView, DryRun } from '../wire/batch/present.ts';

/** Batch that was created now, or by an earlier request that this one repeats. */
interface CreatedBatch {
  batch: BatchView;
  replayed: boolean;
}

/** `hasMore` counts in the direction of the query. */
interface BatchPage {
  batches: BatchView[];
  hasMore: boolean;
}

/** Batches from creation to their result files. Starting it starts the run loop. */
export interface Batches extends Service {
  /** Id of this process in the database, a new one after each start. */
  readonly processId: string;
  /** Completion windows that new batches may have. */
  readonly windows: BatchWindows;
  /** Open batches of all orgs and processes, and the work left that can run. At most a second old. */
  openWork(): Promise<OpenWorkReport>;
  /** Processes of the installation, oldest first, with what they hold. */
  processes(): Promise<ProcessView[]>;
  /** Reason why no requests of batches are sent to a model, whatever their org; null if some are. */
  modelWaiting(model: string): Waiting | null;
  create(caller: Caller, input: CreateBatch, creation: IdempotencyToken | undefined): Promise<CreatedBatch>;
  /** Validates, counts and prices without storing anything. */
  dryRun(caller: Caller, input: CreateBatch): Promise<DryRun>;
  get(caller: Caller, id: string): Promise<BatchView>;
  /**
   * Caller for the other operations on a batch of any org, for operators: its org and key, with their limits. A batch that it creates
   * belongs to them.
   * @throws ApiError `not_found`
   */
  asOwner(id: string): Promise<Caller>;
  /**
   * Changes the place of a batch in the queue of its org.
   * @throws ApiError `not_found`, `batch_not_changeable`
   */
  setPriority(caller: Caller, id: string, priority: number): Promise<BatchView>;
  /** One page of the batches of all orgs, newest first by default. @param signal stops a search whose client has left */
  listAll(filters: BatchFilters, signal: AbortSignal): Promise<BatchPage>;
  /** As `listAll`, of the org of the caller. */
  listOwn(caller: Caller, filters: Omit<BatchFilters, 'orgId'>, signal: AbortSignal): Promise<BatchPage>;
  /** Number of batches in each status, at most `maxCounted` each. @param orgId all orgs if absent */
  countByStatus(orgId?: string): Promise<Record<BatchStatus, number>>;
  list(caller: Caller, query: BatchQuery): Promise<BatchPage>;
  /**
   * Removes a finished batch, its results, and its input unless that was uploaded separately. The charges stay.
   * @throws ApiError `not_found`, `batch_not_finished`
   */
  remove(caller: Caller, id: string): Promise<void>;
  cancel(caller: Caller, id: string): Promise<BatchView>;
  /**
   * Sends no more lines until the batch is resumed. Lines in flight continue, and the window is not extended.
   * @throws ApiError `not_found`, `batch_not_pausable`
   */
  pause(caller: Caller, id: string): Promise<BatchView>;
  /** @throws ApiError `not_found`, `batch_not_pausable` */
  resume(caller: Caller, id: string): Promise<BatchView>;
  /**
   * Creates a batch of the failed requests of a finished one, at current prices.
   * @throws ApiError `batch_not_finished`, `nothing_to_retry`; `not_found`, including when its input or errors are gone
   */
  retry(
    caller: Caller,
    id: string,
    options: RetryOptions,
    creation: IdempotencyToken | undefined,
  ): Promise<CreatedBatch>;
  /** Counts and prices the requests that `retry` would run, without storing anything. @throws ApiError as `retry` */
  retryDryRun(caller: Caller, id: string, options: RetryOptions): Promise<DryRun>;
  /**
   * Yields the batch, then again whenever it changes, at most once a second, until it is final. All followers of a batch get
   * the same values. The iterable throws the reason of `signal`, and `shutting_down` when the engine stops.
   * @throws ApiError `not_found`
   */
  follow(caller: Caller, id: string, signal: AbortSignal): Promise<AsyncIterable<BatchView>>;
  /**
   * One page of the lines of a batch, or a random sample of them. @param signal stops a search whose client has left
   * @throws ApiError `not_found`, including when a result file is gone, `server_overloaded` for too many searches
   */
  lines(caller: Caller, id: string, query: LineQuery, signal: AbortSignal): Promise<LinePage>;
  /**
   * Line of a batch with its texts. In a retry, also the line that it runs again, unless that batch is gone.
   * @param name number from 1 on, or custom_id
   * @throws ApiError `not_found`
   */
  line(caller: Caller, id: string, name: string, signal: AbortSignal): Promise<LineDetail>;
  /** Time that a request at the tier `flex` has, in milliseconds. */
  readonly flexTimeoutMs: number;
  /** Single requests that run through the engine. */
  readonly requests: DurableRequests;
  readonly actions: Pick<BatchActions, 'preview' | 'create' | 'get' | 'cancel'>;
  /**
   * Changes of the batches that match, at most one a second of each batch, and of those that matched before.
   * @param position of an earlier page (`ChangePage`)
   */
  followAll(
    filters: StreamFilters,
    position: string | undefined,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ChangePage>>;
  /** A batch, and its progress and waits over time. @throws ApiError `not_found` */
  history(caller: Caller, id: string): Promise<{ view: BatchView; history: BatchHistory; now: number }>;
  /** Result lines after line `after` that are committed now; the bytes never change. */
  results(caller: Caller, id: string, stream: ResultStream, after: number): Promise<ResultLines>;
}

export interface ResultLines {
  status: BatchStatus;
  /** True if more lines may follow later. */
  incomplete: boolean;
  /** Number of the last line of this answer; `after` if it is empty. */
  lastLine: number;
  /** File with exactly these lines, once the batch has ended; null without one, and for later lines than the first. */
  file: Pick<StoredFile, 'bytes' | 'sha256'> | null;
  /**
   * Opens the lines as JSON Lines, chunked at any position.
   * @param range part of `file`
   * @throws ApiError `not_found` if the file was deleted or has expired, BlobError if it is damaged
   */
  read: (range?: ByteRange) => Promise<AsyncIterable<Uint8Array>>;
}
