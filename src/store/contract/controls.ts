import type { BatchPause, PauseScope, ReplicaDrain } from '../../core/controls.ts';

/** Settings of operators that all processes follow. */
export interface StoredControls {
  /** Oldest first. */
  pauses: BatchPause[];
  /** Oldest first. */
  drains: ReplicaDrain[];
}

export interface ControlStore {
  read(): Promise<StoredControls>;
  /** Keeps a pause of the same scope as it is. False if there was one. */
  pause(pause: BatchPause): Promise<boolean>;
  /** Ends the pauses within a scope: those of its model and its org, where it names them. Returns those that ended. */
  resume(scope: PauseScope): Promise<BatchPause[]>;
  /** Keeps a drain of the same replica as it is. False if there was one. */
  drain(drain: ReplicaDrain): Promise<boolean>;
  /** Returns the drain that ended. */
  undrain(id: string): Promise<ReplicaDrain | undefined>;
}
