import type { Batch, BatchEndpoint, BatchFault, BatchStatus, Chunk, FinalStatus } from '../../core/batch.ts';
import type { SpentBudget } from '../../core/budget.ts';
import type { StoredFile } from '../../core/file.ts';
import type { LedgerRow } from './accounts.ts';
import type { Claim, ClaimOptions, Lease, ClaimRequest } from './claim.ts';
import type { CreateOutcome, IdempotencyToken } from './idempotency.ts';
import type { ErrorSummary } from './results.ts';

export type CreateBatchOutcome =
  | CreateOutcome
  | { outcome: 'input_missing' }
  | { outcome: 'too_many_open' }
  | { outcome: 'budget_used_up'; budget: SpentBudget };

/** What a process needs to know of a batch it runs lines of. */
export interface BatchState {
  id: string;
  orgId: string;
  /** The key that created it. */
  keyId: string;
  status: BatchStatus;
  closing: FinalStatus | null;
  due: number;
  pausedAt: number | null;
  acceptUntil: number;
  expiresAt: number;
  total: number;
  ok: number;
  err: number;
}

/** What a process looks for in batches that it has lines of. */
export interface WatchedBatch extends BatchState {
  /** Its org may spend nothing more. */
  isBudgetUsedUp: boolean;
}

/** What tells whether a batch will end within its window. */
export type OpenBatch = Pick<
  Batch,
  | 'id'
  | 'orgId'
  | 'model'
  | 'due'
  | 'total'
  | 'ok'
  | 'err'
  | 'createdAt'
  | 'inProgressAt'
  | 'expiresAt'
  | 'pausedAt'
  | 'pausedMs'
  | 'atRiskAt'
>;

export interface BatchStore {
  /**
   * Inserts the batch, its chunks (`ready`, seq from 1) and the held closing chunk (seq 0, model `#close`); with
   * `inlineFile` also that file row. `input_missing` when the input file row is gone, foreign, expired or not an input;
   * `budget_used_up` when its org may spend nothing more, `too_many_open` when it already has `maxOpen` unfinished batches.
   * All or nothing.
   */
  create(
    batch: Batch,
    chunks: Chunk[],
    options: { inlineFile?: StoredFile; creation?: IdempotencyToken; maxOpen: number; now: number },
  ): Promise<CreateBatchOutcome>;
  get(orgId: string, id: string): Promise<Batch | undefined>;
  /** Without an org, for the engine room. */
  find(id: string): Promise<Batch | undefined>;
  /** The batch and what is added up for it, of one moment. @param orgId any where it is left out */
  snapshot(id: string, orgId?: string): Promise<BatchSnapshot | undefined>;
  /** Newest first unless the query asks for another order. */
  list(orgId: string, query: BatchQuery): Promise<Batch[]>;
  /** Removes the row of a batch whose results were purged. Its ledger stays, with what it cost. False where there is none. */
  remove(orgId: string, id: string): Promise<boolean>;
  /**
   * `undefined` for an unknown or foreign id; else the batch and whether this call began the cancelling. It does not once
   * the end is decided, even while the status is still `in_progress`: look at `closing`.
   */
  cancel(
    orgId: string,
    id: string,
    now: number,
    graceMs: number,
  ): Promise<{ began: boolean; batch: Batch } | undefined>;
  /**
   * Begins the end of up to `limit` batches whose `expiresAt` has come; returns their ids. One that the database refuses keeps
   * none of the others; it rejects where there were no others.
   */
  expire(now: number, limit: number): Promise<string[]>;
  /**
   * Begins the end of a batch with a fault of its own; answers in flight are taken for two more seconds. False when its
   * end was already decided.
   */
  fail(id: string, fault: BatchFault, now: number): Promise<boolean>;
  /** Tells of a batch that it will miss its window: once, and not when its end is decided. Whether it did. */
  markAtRisk(id: string, now: number): Promise<boolean>;
  /**
   * Moves what is to happen at some instant to unfinished batches by so many ms: their windows, their gates but those that
   * are shut, their urgency. Returns how many.
   */
  moveWindows(by: number): Promise<number>;
  /**
   * Makes the chunks of up to `limit` batches ready again of which lines have no result although no chunk is left: a database
   * that failed over to a copy behind it, or lost what it had confirmed, may have forgotten results of chunks that were
   * finished afterwards. A batch whose window is over is left to its end. Returns the batches.
   */
  reopen(now: number, limit: number): Promise<string[]>;
  states(ids: string[], now: number): Promise<WatchedBatch[]>;
  /**
   * Leases ready chunks of many batches at once, chosen as `chooseChunks` does: of each model the orgs that were given
   * least, of those the least `due`; inside a batch those with the fewest kills, then by seq. What an org was given is
   * counted in the database, so all processes share one fairness. An org whose budget is used up is passed over. Batches that were validating are in progress then.
   * The chunks' `lines` are those without a result; a chunk that has none left is finished on the spot and not returned.
   * `kills` tells a suspect. Less may come than there is, where it is just being written to; none comes where there is none.
   */
  claim(worker: string, wanted: ClaimRequest[], options: ClaimOptions): Promise<Claim>;
  /** Leases the closing chunks of up to `count` batches whose end is decided, by `due`, but not of those in `except`. */
  claimClosings(worker: string, count: number, except?: string[]): Promise<Claim>;
  /** Nothing of the batch is claimed until it is resumed. False unless it was open and not paused. */
  pause(orgId: string, id: string, now: number): Promise<boolean>;
  /** False unless it was open and paused. */
  resume(orgId: string, id: string, now: number): Promise<boolean>;
  /** Gives chunks back unharmed: leased by `worker` with that epoch becomes ready. Returns how many. */
  release(worker: string, leases: Lease[]): Promise<number>;
  /** Replaces a leased suspect by one chunk a remaining line, ready, with the same `kills`. False when fenced. */
  split(worker: string, lease: Lease): Promise<boolean>;
  /** Batches whose end is not decided, behind one of them, by when they expire. */
  listOpen(limit: number, after?: Pick<OpenBatch, 'expiresAt' | 'id'>): Promise<OpenBatch[]>;
  /** How many batches of its org that may still be claimed, and have requests of one of these models, go before this one. */
  countAhead(batch: Pick<Batch, 'id' | 'orgId' | 'due'>, models: readonly string[]): Promise<number>;
  /** How often owners of its ready chunks died, where that is least; null without any. */
  minKills(id: string): Promise<number | null>;
  /** Shuts the gate of a batch that is closing: nothing is recorded any more but by `recordMissing`. False when fenced. */
  closeGate(worker: string, lease: Lease): Promise<boolean>;
  /**
   * The end: checks the lease, that every line has its result and that the ledger agrees; then writes the file rows, the
   * final status with its instant, the error summary and the event, and finishes the chunk. `incomplete` where they do not agree.
   *
   * With a `fault` the batch is given up: whatever agrees, it ends as failed with that fault, or as cancelled where it was
   * being cancelled.
   */
  publish(
    worker: string,
    lease: Lease,
    files: { output: StoredFile | null; errors: StoredFile | null },
    now: number,
    fault?: BatchFault,
  ): Promise<'published' | 'fenced' | 'incomplete'>;
}

export interface BatchSnapshot {
  batch: Batch;
  ledger: LedgerRow[];
  /** Lines claimed and not recorded yet. */
  running: number;
  errorSummary: ErrorSummary[];
}

export interface BatchQuery {
  after?: string;
  /** The page ends before this id instead: what is nearest to it, still newest first. */
  before?: string;
  /** By creation; not together with `before`. */
  order?: 'asc' | 'desc';
  limit: number;
  endpoint?: BatchEndpoint;
  status?: BatchStatus;
  /** Only those created at or after this instant. */
  createdAfter?: number;
}
