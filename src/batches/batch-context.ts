import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { StoreTime } from '../base/store-time.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { BatchEndpoint } from '../core/batch.ts';
import type { Catalog } from '../core/model.ts';
import type { Files } from '../files/files.ts';
import type { Peers } from '../inference/peers.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { Inference } from '../inference/inference.ts';
import type { Store } from '../store/store.ts';
import type { MissingModels } from './missing-models.ts';
import type { OpenHours } from './open-hours.ts';

export interface BatchesDeps {
  store: Store;
  blobs: Blobs;
  files: Files;
  inference: Pick<Inference, 'countLine' | 'runLine'>;
  capacity: Capacity;
  /** Models that this process serves. */
  catalog: Catalog;
  peers: Peers;
  budgets: Accounts['budgets'];
  clock: Clock;
  time: StoreTime;
  ids: Ids;
  random: Random;
  log: Log;
  limits: { openBatchesPerOrg: number; lineBytes: number };
  batch: {
    /** Those that new batches may target; the usual ones if absent. */
    endpoints?: readonly BatchEndpoint[];
    priceFactor: number;
    resultTtlMs: number;
    completionWindowMs: number;
    cancelGraceMs: number;
    lostModelAfterMs: number;
  };
  /** How long `stop` waits for lines in flight. */
  drainMs: number;
  /** Whether this process is the only one on its database; then nobody else can be alive at the start. */
  exclusive: boolean;
}

/** What the parts of the batch engine stand on, each of those of one process on the same. */
export interface BatchContext extends BatchesDeps {
  /** This process, as the store knows it. */
  worker: string;
  missing: MissingModels;
  hours: OpenHours;
  /**
   * Whether what this process leases surely is its own (`Heartbeat.holds`): without a heartbeat it would be taken from it at once.
   */
  holdsLeases: (since?: number) => boolean;
  /** Whether the database cannot be used at present, as opposed to refusing what it was asked. */
  isAway: (error: unknown) => Promise<boolean>;
}
