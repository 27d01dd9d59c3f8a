import type { SlotLeaseRequest, LeasedShare } from '../../core/slot-leases.ts';
import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Lease } from './claim.ts';

/** Model of ready chunks that no live process serves. */
export interface MissingModel {
  model: string;
  since: number;
}

/** A process as the database knows it. */
export interface WorkerState {
  id: string;
  /** Last heartbeat, in epoch milliseconds. */
  beatAt: number;
  load: WorkerLoad;
  /** Leased chunks and their lines. */
  chunks: number;
  lines: number;
  /** Leases of slots, by model, lapsed ones included. */
  slots: { model: string; slots: number; until: number }[];
}

export interface WorkerStore {
  /** Heartbeat. Returns the database's time and the loads of the other live processes. */
  beat(id: string, load: WorkerLoad): Promise<{ now: number; others: WorkerLoad[] }>;
  /**
   * Models of ready chunks that no live process serves, with the time of the first observation. Restarts after minutes without
   * any observation, when no process was alive.
   */
  missingModels(now: number): Promise<MissingModel[]>;
  /**
   * Leases slots to `id` for some seconds, by model (core/slot-leases.ts), and returns its shares. A lease lapses unless renewed.
   */
  leaseSlots(
    id: string,
    asks: Record<string, SlotLeaseRequest>,
    now: number,
  ): Promise<Record<string, LeasedShare>>;
  /** Processes that have sent a heartbeat and are not removed yet, by id, with what they hold. */
  list(): Promise<WorkerState[]>;
  leases(id: string): Promise<Lease[]>;
  /**
   * Returns the chunks of processes without a beat since `before` to the queue (kills + 1), and removes the processes. Returns the
   * number of chunks.
   * @param detached models whose lines cannot end a process: their chunks count no kill
   */
  reap(before: number, detached?: readonly string[]): Promise<number>;
  /** True while a process of version 0.1.0 is alive. */
  hasFirstVersion(): Promise<boolean>;
  /**
   * Recounts what older processes do not count, once none of them is alive and the first time after a migration.
   * @returns false while one is alive
   */
  finishUpgrade(now: number): Promise<boolean>;
  /** Releases all chunks of a draining process without counting a kill. */
  leave(id: string): Promise<void>;
  /** Removes all processes: the embedded database has only one. */
  clear(): Promise<void>;
}
