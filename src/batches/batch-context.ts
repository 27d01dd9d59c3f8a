import type { ProcessInfo } from '../core/worker-load.ts';
import type { Gate } from '../base/fair-gate.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { StoreTime } from '../base/store-time.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { CallTracer } from '../core/call-trace.ts';
import type { Batch, BatchEndpoint } from '../core/batch.ts';
import type { BatchWindows } from '../core/batch-window.ts';
import type { Duties } from '../core/duties.ts';
import type { ApiError } from '../core/errors.ts';
import type { Role } from '../core/role.ts';
import type { AnswerRows } from '../core/stored-answer.ts';
import type { Catalog, SharedCatalog } from '../core/model.ts';
import type { QueueLimits } from '../core/queue-limits.ts';
import type { Files } from '../files/files.ts';
import type { Peers } from '../inference/peers.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { Inference } from '../inference/inference.ts';
import type { Controls } from '../operator/controls.ts';
import type { Store } from '../store/store.ts';
import type { BatchLine } from '../wire/batch/read-line.ts';
import type { MissingModels } from './missing-models.ts';
import type { OpenHours } from './open-hours.ts';

/** Group of single requests, as far as their answers depend on it. */
export type RequestGroup = Pick<Batch, 'orgId' | 'keyId' | 'keyFamily' | 'endpoint' | 'tier'>;

/** Completes the answer of a single request for its client, and gives the rows to store with the answer or the failure. */
export type FinishAnswer = (
  group: RequestGroup,
  line: Pick<BatchLine, 'body' | 'response'>,
  outcome: { answer: object | string } | { error: ApiError },
  now: number,
) => { answer?: object | string; rows: AnswerRows };

/** Limits of orgs and keys that have none of their own. */
export interface BatchLimits {
  openBatchesPerOrg: number;
  perOrg?: QueueLimits;
  perKey?: QueueLimits;
}

export interface BatchesDeps {
  store: Store;
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
  blobs: Blobs;
  files: Files;
  inference: Pick<Inference, 'countLine' | 'runLine'>;
  capacity: Capacity;
  /** Models that this process serves. */
  catalog: Catalog;
  peers: Peers;
  budgets: Accounts['budgets'];
  /** Pauses by operators. */
  controls: Pick<Controls, 'pausing' | 'onChange'>;
  clock: Clock;
  time: StoreTime;
  /** Time of bills and prices. */
  billingClock: Accounts['billingClock'];
  ids: Ids;
  random: Random;
  log: Log;
  /** Completes the answers of single requests, which are returned as they are if absent. */
  finishAnswer?: FinishAnswer;
  /** Throws while the disk has no room for new batches. */
  requireDisk: () => void;
  limits: BatchLimits & { storedBytes: number; lineBytes: number };
  batch: {
    /** Endpoints of new batches on any surface; `defaultEndpoints` if absent. */
    endpoints?: readonly BatchEndpoint[];
    windows: BatchWindows;
    resultTtlMs: number;
    /** Time after which finished batches are removed; never if absent. */
    keepMs?: number;
    cancelGraceMs: number;
    lostModelAfterMs: number;
    /** Time that a request at the tier `flex` has; `defaultFlexTimeoutMs` if absent. */
    flexTimeoutMs?: number;
  };
  /** Metadata member whose value is the tag of the usage. */
  usageTag?: string;
  /** Milliseconds that `stop` waits for lines in flight. */
  drainMs: number;
  tracer?: Pick<CallTracer, 'beginLine' | 'endLine' | 'endBatch'> | undefined;
  /** This process, for operators. */
  process: Omit<ProcessInfo, 'startedAt' | 'role'>;
  /** `all` if absent. */
  role?: Role;
  /** All are this process's if absent. */
  duties?: Duties;
  /** True if no other process uses the database. */
  exclusive: boolean;
}

/** Collaborators for new batches and single requests. */
export interface CreateDeps extends Pick<
  BatchesDeps,
  'store' | 'files' | 'ids' | 'billingClock' | 'requireDisk' | 'usageTag'
> {
  /** Time of the database, in which windows count. */
  clock: Pick<Clock, 'now'>;
  /** Models of all processes. */
  catalog: SharedCatalog;
  limits: BatchLimits & { storedBytes: number };
  batch: Pick<BatchesDeps['batch'], 'endpoints' | 'windows' | 'resultTtlMs'>;
}

/** Shared collaborators of the parts of one process's batch engine. */
export interface BatchContext extends BatchesDeps {
  /** Id of this process in the store. */
  worker: string;
  missing: MissingModels;
  hours: OpenHours;
  /** True if the leases of this process are certainly still its own (`Heartbeat.holds`); others would be taken at once. */
  holdsLeases: (since?: number) => boolean;
  /** True if the database is unavailable, as opposed to rejecting a statement. */
  isDatabaseDown: (error: unknown) => Promise<boolean>;
}
