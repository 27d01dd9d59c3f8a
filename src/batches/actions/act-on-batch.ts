import type { Audit } from '../../accounts/audit.ts';
import { dayMs } from '../../base/clock.ts';
import type { Fields } from '../../base/fields.ts';
import { words } from '../../base/words.ts';
import { type AuditAction, changedFields } from '../../core/audit.ts';
import { type BatchAction, inapplicable } from '../../core/batch-action.ts';
import type { Batch } from '../../core/batch.ts';
import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import type { Store } from '../../store/store.ts';
import type { Batches } from '../batches.ts';
import type { ActOnBatch } from './batch-actions.ts';

export interface ActOnBatchDeps {
  store: Pick<Store, 'batches'>;
  batches: Pick<Batches, 'pause' | 'resume' | 'cancel' | 'setPriority' | 'retry'>;
  /** Caller with the current settings of an org and a key. */
  callerOf: (of: Pick<Batch, 'orgId' | 'keyId' | 'keyFamily'>) => Promise<Caller>;
  audit: Pick<Audit, 'add'>;
}

/** Errors of a batch to which the action does not apply, because it has changed since the action began. */
const inapplicableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...words('not_found batch_not_pausable batch_not_cancellable batch_not_changeable'),
  ...words('batch_not_finished nothing_to_retry'),
]);

/** Temporary errors: the action waits and repeats the batch. */
const temporaryCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>(
  words('storage_unavailable insufficient_storage server_overloaded shutting_down'),
);

/** Acts for the owner of a batch, as the single calls do. Repeating it after a crash changes nothing more. */
export function createActOnBatch({ store, batches, callerOf, audit }: ActOnBatchDeps): ActOnBatch {
  async function change(
    { id, options, createdAt }: BatchAction,
    caller: Caller,
    batch: Batch,
  ): Promise<Fields> {
    const { kind, codes, priority } = options;
    if (kind === 'pause' || kind === 'resume' || kind === 'cancel') {
      const view = await batches[kind](caller, batch.id);
      return fieldsOf(view.batch);
    }
    if (kind === 'priority')
      return fieldsOf((await batches.setPriority(caller, batch.id, priority ?? 0)).batch);
    // The token makes a second attempt return the batch of the first.
    const once = { token: `k:actions:${id}:${batch.id}`, bodyHash: id };
    const token = { ...once, startedAt: createdAt, retry: 0, ttlMs: dayMs };
    const made = await batches.retry(caller, batch.id, { ...(codes && { codes }) }, token);
    return { batch_id: made.batch.batch.id, ...(codes && { codes }) };
  }

  async function note({ options, actor }: BatchAction, batch: Batch, after: Fields): Promise<void> {
    if (!actor) return;
    const { kind } = options;
    const action: AuditAction = `batch.${kind === 'priority' ? 'update' : kind}`;
    const fields = kind === 'retry' ? { before: null, after } : changedFields<Fields>(fieldsOf(batch), after);
    if (fields) await audit.add(actor, { action, target: batch.id, ...fields });
  }

  return async (action, batchId) => {
    const { orgId } = action;
    const batch =
      orgId === null ? await store.batches.find(batchId) : await store.batches.get(orgId, batchId);
    if (!batch || inapplicable(action.options, batch) !== null) return 'skipped';
    try {
      const { keyId, keyFamily } = action;
      const caller = await callerOf(orgId === null ? batch : { orgId, keyId, keyFamily });
      await note(action, batch, await change(action, caller, batch));
      return 'done';
    } catch (error) {
      if (!(error instanceof ApiError) || temporaryCodes.has(error.code)) throw error;
      return inapplicableCodes.has(error.code) ? 'skipped' : error;
    }
  };
}

/** Fields that an action changes, for the audit log. */
function fieldsOf({ status, pausedAt, priority }: Batch): Fields {
  return { status, paused: pausedAt !== null, priority };
}
