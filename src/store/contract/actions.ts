import type { ActionProgress, BatchAction } from '../../core/batch-action.ts';
import type { CreateOutcome, IdempotencyToken } from './idempotency.ts';

/**
 * Actions on many batches. A process holds an action while it carries it out. Another one may continue after `leaseUntil`, or once the
 * process is not among the live ones (WorkerStore).
 */
export interface ActionStore {
  /** @param owner org of the idempotency token */
  create(
    action: BatchAction,
    ids: readonly string[],
    owner: string,
    creation?: IdempotencyToken,
  ): Promise<CreateOutcome>;
  /** @param orgId null for those of operators */
  get(orgId: string | null, id: string): Promise<BatchAction | undefined>;
  /** Takes a running action that no other process holds, with the ids of its batches in order. */
  claim(
    worker: string,
    now: number,
    leaseUntil: number,
  ): Promise<{ action: BatchAction; ids: string[] } | undefined>;
  /** Records progress and renews the lease. False if the action was cancelled, or is held by another process. */
  advance(worker: string, id: string, progress: ActionProgress, leaseUntil: number): Promise<boolean>;
  /** Lets other processes continue the actions that `worker` holds. */
  release(worker: string): Promise<void>;
  end(id: string, status: 'completed' | 'cancelled', now: number): Promise<void>;
  /** Removes actions that ended before this time. */
  removeEnded(before: number): Promise<void>;
}
