import type { BatchAction } from '../../../core/batch-action.ts';
import type { ActionStore } from '../../contract/actions.ts';
import type { Db } from '../../db.ts';
import { claimToken } from '../idempotency.ts';
import { tableOf } from '../table.ts';

/** `ids` is written once, and read only by the process that carries the action out. */
interface ActionRow extends BatchAction {
  ids: readonly string[];
  owner: string | null;
  leaseUntil: number;
}

const actions = tableOf<ActionRow, 'ids' | 'owner' | 'leaseUntil'>('batch_actions', {
  json: ['ids', 'options', 'failures', 'actor'],
  unread: ['ids', 'owner', 'leaseUntil'],
})(
  'id orgId keyId keyFamily options ids status total position done failed skipped failures actor owner leaseUntil createdAt',
  'endedAt',
);

/** Condition of actions that a process may take: time, process. */
const free = `(lease_until <= ? OR owner = ?
  OR NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = batch_actions.owner))`;

export function createActions(db: Db): ActionStore {
  return {
    create: (action, ids, owner, creation) =>
      db.tx(async (q) => {
        const claimed = creation && (await claimToken(q, owner, creation, action.id, action.createdAt));
        if (claimed && claimed.outcome !== 'ours') return claimed;
        await actions.insert(q, [{ ...action, ids, owner: null, leaseUntil: 0 }]);
        return { outcome: 'created' };
      }),

    get: (orgId, id) => actions.first(db, { id, orgId }),

    claim: (worker, now, leaseUntil) =>
      db.tx(async (q) => {
        const found = await actions.first(
          q,
          { status: 'running', [free]: [now, worker] },
          `ORDER BY created_at, id LIMIT 1 ${q.skipLocked}`,
        );
        if (!found) return undefined;
        await actions.change(q, { owner: worker, leaseUntil }, { id: found.id });
        const [row] = await q.all<{ ids: string }>('SELECT ids FROM batch_actions WHERE id = ?', [found.id]);
        return { action: found, ids: JSON.parse(row!.ids) as string[] };
      }),

    async advance(worker, id, progress, leaseUntil) {
      const { position, done, failed, skipped, failures } = progress;
      const set = { position, done, failed, skipped, failures, leaseUntil };
      return (await actions.change(db, set, { id, owner: worker, status: 'running' })) > 0;
    },

    async release(worker) {
      await actions.change(db, { leaseUntil: 0 }, { owner: worker, status: 'running' });
    },

    async end(id, status, now) {
      await actions.change(db, { status, endedAt: now }, { id, status: 'running' });
    },

    async removeEnded(before) {
      await actions.remove(db, { 'ended_at < ?': before });
    },
  };
}
