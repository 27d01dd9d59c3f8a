import type { BatchPause, PauseScope, ReplicaDrain } from '../../core/controls.ts';
import type { ControlStore } from '../contract/controls.ts';
import type { Db } from '../db.ts';
import { tableOf } from './table.ts';

/** Pause as stored: '' for all models or all orgs, because a primary key has no nulls. */
interface PauseRow extends Omit<BatchPause, keyof PauseScope> {
  model: string;
  orgId: string;
}

const pauses = tableOf<PauseRow>('batch_pauses')('model orgId since keyId');
const drains = tableOf<ReplicaDrain>('replica_drains')('id model server since keyId');

/** SQL condition on columns of model and org ids: an operator has paused their lines. */
export function isPaused(model: string, orgId: string): string {
  return `EXISTS (SELECT 1 FROM batch_pauses p WHERE p.model IN ('', ${model}) AND p.org_id IN ('', ${orgId}))`;
}

export function createControls(db: Db): ControlStore {
  return {
    async read() {
      const [paused, drained] = await Promise.all([
        pauses.all(db, {}, 'ORDER BY since, model, org_id'),
        drains.all(db, {}, 'ORDER BY since, id'),
      ]);
      return { pauses: paused.map(toPause), drains: drained };
    },

    async pause({ model, orgId, ...rest }) {
      const row = { model: model ?? '', orgId: orgId ?? '', ...rest };
      const added = await pauses.insert(
        db,
        [row],
        'ON CONFLICT (model, org_id) DO NOTHING RETURNING 1 AS one',
      );
      return added.length > 0;
    },

    async resume({ model, orgId }) {
      const where = { 'model = ?': model ?? undefined, 'org_id = ?': orgId ?? undefined };
      return (await pauses.take(db, where)).map(toPause);
    },

    async drain(drain) {
      return (await drains.insert(db, [drain], 'ON CONFLICT (id) DO NOTHING RETURNING 1 AS one')).length > 0;
    },

    async undrain(id) {
      return (await drains.take(db, { id }))[0];
    },
  };
}

function toPause({ model, orgId, ...rest }: PauseRow): BatchPause {
  return { model: model || null, orgId: orgId || null, ...rest };
}
