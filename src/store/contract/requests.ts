import type { Batch, Chunk, ResultStream } from '../../core/batch.ts';
import type { SpentBudget } from '../../core/budget.ts';
import type { CallerLimits } from '../../core/limits.ts';
import type { QueueLimit } from '../../core/queue-limits.ts';
import type { StoredResponse } from '../../core/response.ts';
import type { LinePlace } from '../../core/request-group.ts';
import type { IdempotencyToken } from './idempotency.ts';
import type { LineResult, ResultRow } from './results.ts';

/** Single request as a line of its group. */
export interface GroupedRequest {
  line: number;
  body: Uint8Array;
  creation: IdempotencyToken;
  /** Unfinished response that the request makes; its `requestId` is set. */
  response?: StoredResponse;
}

/** Request of a group that is not new. `id`: the request that it repeats; null if its key belongs to another body. */
export interface Repeat {
  line: number;
  id: string | null;
}

export type CreateGroupOutcome =
  | { outcome: 'created'; leased: Chunk[] }
  | { outcome: 'repeats'; repeats: Repeat[] }
  | { outcome: 'limit_exceeded'; exceeded: QueueLimit[] }
  | { outcome: 'budget_used_up'; budget: SpentBudget }
  | { outcome: 'older_server' };

/** `body`: output or error line. */
export interface RequestResult extends LinePlace, Omit<ResultRow, 'n'> {
  stream: ResultStream;
}

/** Single requests in groups (core/request-group.ts). `batches` and `results` run them. */
export interface RequestStore {
  /**
   * Inserts a group with its requests, all or nothing. `repeats`: nothing was inserted, because these requests were created before.
   * `older_server`: a process of a version that knows no groups is alive.
   * @param options.billedAt month of budgets
   * @param options.worker process that leases the chunks at once; `leased` are those
   */
  create(
    group: Batch,
    chunks: Chunk[],
    requests: GroupedRequest[],
    options: { limits: CallerLimits; now: number; billedAt: number; worker?: string },
  ): Promise<CreateGroupOutcome>;
  /** Bodies of the requests of a group, in the order of `lines`; undefined for those that are gone. */
  bodies(groupId: string, lines: readonly number[]): Promise<(Uint8Array | undefined)[]>;
  /** Results of those that have one. */
  results(places: readonly LinePlace[]): Promise<RequestResult[]>;
  /** Those that have a result. */
  ended(places: readonly LinePlace[]): Promise<LinePlace[]>;
  /**
   * Ends a request of the org with this result. False without effect if it has one, is unknown, or its group is ending.
   */
  end(orgId: string, result: LineResult, now: number): Promise<boolean>;
  /** Removes up to `limit` finished groups with an id before `before`, and their results. Returns their number. */
  forget(before: string, limit: number): Promise<number>;
}
