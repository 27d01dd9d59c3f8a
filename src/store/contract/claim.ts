import type { Batch, Chunk } from '../../core/batch.ts';
import type { SuspectAllowance, ClaimTarget } from '../../core/fair-queueing.ts';

/** What a process may take of one model. */
export interface ClaimRequest extends ClaimTarget {
  /** Under which the orgs' shares are counted. */
  model: string;
  /** What chunks may call it: its id and its aliases. */
  names: string[];
}

export interface ClaimOptions {
  now: number;
  suspects: SuspectAllowance;
  /** Batches that are passed over. */
  except?: string[];
  /** Nothing of any other batch is taken. */
  only?: string[];
}

/** What must be known of a batch to run its lines. */
export interface ClaimedBatch extends Pick<Batch, 'id' | 'orgId' | 'endpoint' | 'due' | 'expiresAt'> {
  /** Models whose prices it froze. */
  priced: string[];
  /** Of its input; null when that file is gone. */
  blobId: string | null;
}

export interface Claim {
  chunks: Chunk[];
  /** Those of the chunks. Empty where chunks are claimed to close their batches. */
  batches: ClaimedBatch[];
  /** Batches of which the database refused to give chunks out. They kept no other from being claimed. */
  faults: { batchId: string; message: string }[];
}

/** A lease on a chunk: valid while the stored epoch and owner are these. */
export interface Lease {
  batchId: string;
  seq: number;
  epoch: number;
}
