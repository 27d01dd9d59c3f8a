import type { SlotLeaseRequest, LeasedShare } from '../../core/slot-leases.ts';
import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Lease } from './claim.ts';

/** A model that chunks name and no process alive serves. */
export interface MissingModel {
  model: string;
  since: number;
}

export interface WorkerStore {
  /** Says "alive". Answers with the database's time and the loads of the others alive. */
  beat(id: string, load: WorkerLoad): Promise<{ now: number; others: WorkerLoad[] }>;
  /**
   * The models of ready chunks that no process alive serves, each since it was first seen so. What nobody looked at for
   * minutes, because nobody was alive, begins anew.
   */
  missingModels(now: number): Promise<MissingModel[]>;
  /**
   * Leases slots to `id` for some seconds, by model (`core/slot-leases.ts`), and answers its share of each. What is not asked for again lapses.
   */
  leaseSlots(
    id: string,
    asks: Record<string, SlotLeaseRequest>,
    now: number,
  ): Promise<Record<string, LeasedShare>>;
  /** What `id` has leased. */
  leases(id: string): Promise<Lease[]>;
  /** Takes chunks back from owners without a beat since `before` (kills + 1) and forgets them. Returns how many. */
  reap(before: number): Promise<number>;
  /** Gives everything back without counting a kill: a drain. */
  leave(id: string): Promise<void>;
  /** For the embedded database, which only one process opens: nobody else is alive. */
  clear(): Promise<void>;
}
