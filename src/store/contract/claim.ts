import type { Batch, Chunk } from '../../core/batch.ts';
import type { SuspectAllowance, ClaimTarget } from '../../core/fair-queueing.ts';

/** Demand of a process for chunks of one model. */
export interface ClaimRequest extends ClaimTarget {
  /** Id under which the service of orgs is counted. */
  model: string;
  /** Names in chunks: the id and aliases. */
  names: string[];
}

export interface ClaimOptions {
  now: number;
  /** Time of bills, for the month of budgets; `now` if absent. */
  billedAt?: number;
  suspects: SuspectAllowance;
  /** Ids of orgs and families of keys whose batches to skip, because of their budgets. */
  exhausted?: readonly string[];
  except?: string[];
  only?: string[];
}

/** Fields of a batch for running its lines. */
export interface ClaimedBatch extends Pick<
  Batch,
  | 'id'
  | 'orgId'
  | 'keyId'
  | 'keyFamily'
  | 'endpoint'
  | 'due'
  | 'expiresAt'
  | 'prices'
  | 'priceFactor'
  | 'tier'
> {
  /** Weight of the org. */
  weight: number;
  /** Input blob; null if the file is gone, and for groups of single requests. */
  blobId: string | null;
}

export interface Claim {
  chunks: Chunk[];
  /** Batches of the chunks; empty for closing chunks. */
  batches: ClaimedBatch[];
  /** Batches that could not be claimed because of damaged rows. */
  faults: { batchId: string; message: string }[];
}

/** Lease on a chunk, valid while the chunk has this epoch and owner. */
export interface Lease {
  batchId: string;
  seq: number;
  epoch: number;
}
