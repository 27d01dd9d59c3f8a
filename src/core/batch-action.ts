import type { Actor } from './audit.ts';
import { type Batch, isFinal } from './batch.ts';

export const actionKinds = ['pause', 'resume', 'cancel', 'retry', 'priority'] as const;
export type ActionKind = (typeof actionKinds)[number];

export const actionStatuses = ['running', 'completed', 'cancelled'] as const;

/** Change that an action makes to each batch. */
export interface ActionOptions {
  kind: ActionKind;
  /** Error codes of a retry; all if absent. */
  codes?: readonly string[];
  /** New priority; only operators change it. */
  priority?: number;
}

export interface ActionFailure {
  batchId: string;
  code: string;
  message: string;
}

/** Counts of an action so far. Batches before `position` are finished. */
export interface ActionProgress {
  position: number;
  /** Batches that were changed, that failed, and that the action does not apply to. */
  done: number;
  failed: number;
  skipped: number;
  /** First failures. */
  failures: readonly ActionFailure[];
}

/** Action on many batches, which a process carries out one by one. Instants are epoch milliseconds. */
export interface BatchAction extends ActionProgress {
  id: string;
  /** Null for an operator's, on the batches of all orgs. */
  orgId: string | null;
  /** Key that began it. */
  keyId: string;
  keyFamily: string | null;
  options: ActionOptions;
  status: (typeof actionStatuses)[number];
  total: number;
  /** Operator, for the audit log; null for an org's own. */
  actor: Actor | null;
  createdAt: number;
  endedAt: number | null;
}

/** Failures that an action remembers. */
export const maxFailures = 50;

/** Reason for which an action does not apply to a batch; null if it does. The codes of a retry are not considered. */
export function inapplicable({ kind, priority }: ActionOptions, batch: Batch): string | null {
  const isEnding = batch.closing !== null;
  if (kind === 'retry') {
    if (!isFinal(batch.status)) return 'not_finished';
    return batch.err === 0 ? 'no_failures' : null;
  }
  if (isEnding) return 'ended';
  if (kind === 'pause') return batch.pausedAt === null ? null : 'already_paused';
  if (kind === 'resume') return batch.pausedAt === null ? 'not_paused' : null;
  return kind === 'priority' && batch.priority === priority ? 'unchanged' : null;
}
