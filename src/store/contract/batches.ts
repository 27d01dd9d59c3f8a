import type { Words } from '../../base/words.ts';
import type { Batch, BatchEndpoint, BatchFault, BatchStatus, Chunk } from '../../core/batch.ts';
import type { SpentBudget } from '../../core/budget.ts';
import type { CallerLimits } from '../../core/limits.ts';
import type { QueuedWork, QueueLimit } from '../../core/queue-limits.ts';
import type { StoredFile } from '../../core/file.ts';
import type { LedgerRow } from './accounts.ts';
import type { Claim, ClaimOptions, Lease, ClaimRequest } from './claim.ts';
import type { CreateOutcome, IdempotencyToken } from './idempotency.ts';
import type { FileByteLimits } from './storage.ts';
import type { ErrorSummary } from './results.ts';

export type CreateBatchOutcome =
  | CreateOutcome
  | { outcome: 'input_missing' }
  | { outcome: 'not_replayed' }
  | { outcome: 'limit_exceeded'; exceeded: QueueLimit[] }
  | { outcome: 'too_much_stored'; quota: keyof FileByteLimits }
  | { outcome: 'budget_used_up'; budget: SpentBudget };

/** State of a batch for the processes that run its lines. */
export type BatchState = Pick<
  Batch,
  Words<'id orgId keyId keyFamily endpoint tag tier status closing due pausedAt acceptUntil expiresAt total ok err'>
>;

export interface WatchedBatch extends BatchState {
  /** True if the org or the key may not spend more. */
  isBudgetUsedUp: boolean;
  isOrgDisabled: boolean;
}

/** Fields for predicting whether a batch ends within its window. */
export type OpenBatch = Pick<
  Batch,
  Words<'id orgId keyId keyFamily model due total ok err est createdAt inProgressAt expiresAt pausedAt pausedMs atRiskAt'>
>;

/** The fields of a batch that change until it is finished. */
export type ChangingBatch = Pick<
  Batch,
  | Words<'id orgId status ok err priority due closing acceptUntil'>
  | Words<'pausedAt pausedMs atRiskAt inProgressAt expiresAt cancellingAt'>
>;

/** Lines of the unfinished chunks of a batch for one model. */
export interface OpenLines {
  batchId: string;
  /** Name of the model, as the batch froze it. */
  model: string;
  requests: number;
  /** Estimated input and output tokens. */
  tokens: number;
}

export interface BatchStore {
  /**
   * Inserts the batch, its chunks (`ready`, seq from 1), the held closing chunk (seq 0, model `#close`) and the row of
   * `inlineFile`, all or nothing. `input_missing`: the input file is gone, expired, of another org or no batch input.
   * `limit_exceeded`: the batch does not fit the limits of its org or key; they name models by id. What a key uses is the sum of its
   * family. `too_much_stored`: org or key store
   * as much as `storage` allows, or would with `inlineFile`.
   */
  create(
    batch: Batch,
    chunks: Chunk[],
    options: {
      inlineFile?: StoredFile;
      creation?: IdempotencyToken;
      limits: CallerLimits;
      now: number;
      /** Time of bills, for the month of budgets; `now` if absent. */
      billedAt?: number;
      storage?: FileByteLimits;
      /** True to create nothing, and only return the batch that `creation` created before: `replayed` or `not_replayed`. */
      replayOnly?: boolean;
    },
  ): Promise<CreateBatchOutcome>;
  get(orgId: string, id: string): Promise<Batch | undefined>;
  /** Batch of any org. */
  find(id: string): Promise<Batch | undefined>;
  /** Batch and its sums in one snapshot. @param orgId any org if absent */
  snapshot(id: string, orgId?: string): Promise<BatchSnapshot | undefined>;
  /** As `snapshot`, of those of the batches that exist. */
  snapshots(ids: readonly string[]): Promise<BatchSnapshot[]>;
  /** Those of the batches that exist. */
  findMany(ids: readonly string[]): Promise<Batch[]>;
  /** Unfinished batches by id, after one of them; those in progress without a decided end if `of` is `running`. */
  listChanging(limit: number, after?: string, of?: 'open' | 'running'): Promise<ChangingBatch[]>;
  /** Ids of the batches and groups of requests with this time of creation or a later one, newest first. */
  createdSince(since: number, limit: number): Promise<string[]>;
  /** Batches of which other processes hold lines. */
  elsewhere(worker: string): Promise<string[]>;
  /** Newest first by default. */
  list(orgId: string, query: BatchQuery): Promise<Batch[]>;
  /** Batches of all orgs, newest first by default. */
  listAll(query: AllBatchesQuery): Promise<Batch[]>;
  /** Number of batches in each status, of all orgs without `orgId`. Counts up to `max`: a batch costs a step in an index. */
  countByStatus(orgId: string | undefined, max: number): Promise<Record<BatchStatus, number>>;
  /**
   * Batches of a slice of the rows whose text has all words (core/batch-search.ts). The models of the query are ignored.
   * `next`: the `after` of the next slice; null for the last one.
   */
  search(
    query: AllBatchesQuery & { words: readonly string[] },
  ): Promise<{ batches: Batch[]; next: string | null }>;
  /** Removes a purged batch. Its ledger rows remain, with their cost. False if there is none. */
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Batches that were removed at this time or later, of the last ten minutes. */
  removedSince(since: number): Promise<RemovedBatch[]>;
  /**
   * Cancels a batch unless its end is decided (`closing`), which is possible while the status is `in_progress`. `began` says if this
   * call did; undefined for an unknown id.
   */
  cancel(
    orgId: string,
    id: string,
    now: number,
    graceMs: number,
  ): Promise<{ began: boolean; batch: Batch } | undefined>;
  /**
   * Begins the end of up to `limit` batches past `expiresAt` and returns their ids. A batch with damaged rows does not prevent the
   * others; rejects if it is the only one.
   */
  expire(now: number, limit: number): Promise<string[]>;
  /** Begins the end of a batch as failed; accepts answers in flight for two more seconds. False if the end is decided. */
  fail(id: string, fault: BatchFault, now: number): Promise<boolean>;
  /** Marks a batch as expected to miss its window and adds the event; false if already marked or the end is decided. */
  markAtRisk(id: string, now: number): Promise<boolean>;
  /**
   * Shifts windows, open gates and urgency of unfinished batches by `by` milliseconds after a jump of the database's clock. Returns
   * the number of batches.
   */
  moveWindows(by: number): Promise<number>;
  /**
   * Makes the chunks of up to `limit` batches ready again that have lines without a result but no open chunk: a database that failed
   * over to a lagging copy may have lost confirmed results. Skips batches past their window. Returns the batch ids.
   */
  reopen(now: number, limit: number): Promise<string[]>;
  /** @param billedAt month of budgets */
  states(ids: string[], billedAt: number): Promise<WatchedBatch[]>;
  /**
   * Leases ready chunks as `chooseChunks` chooses: per model the least served orgs, then the lowest `due`; within a batch the fewest
   * kills, then by seq. Service is counted in the database, so that fairness spans all processes. Skips orgs with a used-up budget.
   * Batches in `validating` become `in_progress`. The chunks have only lines without a result; a chunk without any is finished and not
   * returned. May return fewer chunks than are ready while others write to their batches.
   */
  claim(worker: string, wanted: ClaimRequest[], options: ClaimOptions): Promise<Claim>;
  /** Leases the closing chunks of up to `count` batches with a decided end, lowest `due` first, except those in `except`. */
  claimClosings(worker: string, count: number, except?: string[]): Promise<Claim>;
  /** Stops claims until `resume`. False unless the batch is open and not paused. */
  pause(orgId: string, id: string, now: number): Promise<boolean>;
  /** False unless the batch is open and paused. */
  resume(orgId: string, id: string, now: number): Promise<boolean>;
  /** Changes the priority of a batch, and its place in the queue. False for an unknown id, or if the end is decided. */
  setPriority(id: string, priority: number): Promise<boolean>;
  /**
   * Puts up to `limit` batches in the last quarter of their window before all others of their org, so that it goes ahead of its turn
   * (core/late-work.ts). Returns their number.
   */
  hurry(now: number, limit: number): Promise<number>;
  /** Returns chunks leased by `worker` to the queue, without counting a kill. Returns their number. */
  release(worker: string, leases: Lease[]): Promise<number>;
  /** Replaces a leased suspect by one ready chunk per remaining line, with the same `kills`. False if the lease is lost. */
  split(worker: string, lease: Lease): Promise<boolean>;
  /** Batches without a decided end by expiry, after one of them. */
  listOpen(limit: number, after?: Pick<OpenBatch, 'expiresAt' | 'id'>): Promise<OpenBatch[]>;
  /** Batches in progress without a decided end by id, after one of them. */
  listRunning(limit: number, after?: string): Promise<OpenBatch[]>;
  /** Lines of unfinished chunks of these batches, summed by batch and model name. */
  openLines(ids: readonly string[]): Promise<OpenLines[]>;
  /** Unfinished work of the org and of a family of keys. */
  queued(orgId: string, family: string): Promise<QueuedByOwner>;
  /** Place of a batch in the queue for these models. */
  queuePlace(batch: Pick<Batch, 'id' | 'orgId' | 'due'>, models: readonly string[]): Promise<QueuePlace>;
  /** Lowest `kills` among ready chunks; null without any. */
  minKills(id: string): Promise<number | null>;
  /** Stops recording for a closing batch, except by `recordMissing`. False if the lease is lost. */
  closeGate(worker: string, lease: Lease): Promise<boolean>;
  /**
   * Ends a batch: writes the file rows, final status, error summary and event, and finishes the closing chunk. `incomplete` if
   * results, counters and ledger disagree.
   *
   * With `fault` the batch skips that check and ends as failed, or as cancelled if it is `cancelling`.
   */
  publish(
    worker: string,
    lease: Lease,
    files: { output: StoredFile | null; errors: StoredFile | null },
    now: number,
    fault?: BatchFault,
  ): Promise<'published' | 'fenced' | 'incomplete'>;
}

export type RemovedBatch = Pick<Batch, 'id' | 'orgId'>;

/** Unfinished work of an org, and of a family of its keys. */
export type QueuedByOwner = Record<keyof CallerLimits, QueuedWork>;

export interface QueuePlace {
  /** Number of claimable batches of the org with lines for one of the models that go first. */
  ahead: number;
  /** Weight of the org. */
  weight: number;
}

export interface BatchSnapshot {
  batch: Batch;
  ledger: LedgerRow[];
  /** Claimed lines without a result. */
  running: number;
  errorSummary: ErrorSummary[];
}

export interface AllBatchesQuery extends Pick<BatchQuery, 'after' | 'order' | 'limit' | 'createdAfter'> {
  /** Latest creation, exclusive. */
  createdBefore?: number | undefined;
  /** Group of batches, each in an index; all if absent. `models`: names of a model, and all batches of several models. */
  of?:
    | { orgId: string; status?: BatchStatus | undefined }
    | { models: readonly string[] }
    | { status: BatchStatus }
    | { open: true }
    | undefined;
}

export interface BatchQuery {
  after?: string;
  /** Page that ends before this id, newest first. */
  before?: string;
  /** By creation; not with `before`. */
  order?: 'asc' | 'desc';
  limit: number;
  endpoint?: BatchEndpoint;
  status?: BatchStatus;
  /** Earliest creation, inclusive. */
  createdAfter?: number;
}
