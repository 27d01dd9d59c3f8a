import type { AuditStamp } from '../../core/audit.ts';
import type { BatchPause, PauseScope, ReplicaCap, ReplicaDrain } from '../../core/controls.ts';

/** Settings of operators that all processes follow. */
export interface StoredControls {
  /** Oldest first. */
  pauses: BatchPause[];
  /** Oldest first. */
  drains: ReplicaDrain[];
  /** Oldest first. */
  caps: ReplicaCap[];
}

/** Changes add their entries to the audit log in their own transactions, unless they change nothing. */
export interface ControlStore {
  read(): Promise<StoredControls>;
  /** Keeps a pause of the same scope as it is. */
  pause(scope: PauseScope, stamp: AuditStamp): Promise<void>;
  /** Ends the pauses within a scope: those of its model and its org, where it names them. */
  resume(scope: PauseScope, stamp: AuditStamp): Promise<void>;
  /** Keeps a drain of the same replica as it is. */
  drain(replica: Pick<ReplicaDrain, 'id' | 'model' | 'server'>, stamp: AuditStamp): Promise<void>;
  undrain(id: string, stamp: AuditStamp): Promise<void>;
  /** Replaces a cap of the same replica; keeps one of the same number as it is. */
  cap(replica: Omit<ReplicaCap, 'since' | 'keyId'>, stamp: AuditStamp): Promise<void>;
  uncap(id: string, stamp: AuditStamp): Promise<void>;
}
