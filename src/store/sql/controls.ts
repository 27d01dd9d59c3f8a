import type { AuditStamp } from '../../core/audit.ts';
import type { BatchPause, PauseScope, ReplicaCap, ReplicaDrain } from '../../core/controls.ts';
import type { ControlStore } from '../contract/controls.ts';
import type { Db } from '../db.ts';
import { append } from './accounts/audit.ts';
import { tableOf } from './table.ts';

/** Pause as stored: '' for all models or all orgs, because a primary key has no nulls. */
interface PauseRow extends Omit<BatchPause, keyof PauseScope> {
  model: string;
  orgId: string;
}

const pauses = tableOf<PauseRow>('batch_pauses')('model orgId since keyId');
const drains = tableOf<ReplicaDrain>('replica_drains')('id model server since keyId');
const caps = tableOf<ReplicaCap>('replica_caps')('id model server maxInFlight since keyId');

/** SQL condition on columns of model and org ids: an operator has paused their lines. */
export function isPaused(model: string, orgId: string): string {
  return `EXISTS (SELECT 1 FROM batch_pauses p WHERE p.model IN ('', ${model}) AND p.org_id IN ('', ${orgId}))`;
}

export function createControls(db: Db): ControlStore {
  return {
    async read() {
      const [paused, drained, capped] = await Promise.all([
        pauses.all(db, {}, 'ORDER BY since, model, org_id'),
        drains.all(db, {}, 'ORDER BY since, id'),
        caps.all(db, {}, 'ORDER BY since, id'),
      ]);
      return { pauses: paused.map(toPause), drains: drained, caps: capped };
    },

    pause: (scope, stamp) =>
      db.tx(async (q) => {
        const row = { model: scope.model ?? '', orgId: scope.orgId ?? '', ...madeBy(stamp) };
        const added = await pauses.insert(
          q,
          [row],
          'ON CONFLICT (model, org_id) DO NOTHING RETURNING 1 AS one',
        );
        if (added.length === 0) return;
        const after = presentScope(scope);
        await append(q, stamp, { action: 'batches.pause', target: targetOf(scope), before: null, after });
      }),

    resume: ({ model, orgId }, stamp) =>
      db.tx(async (q) => {
        const where = { 'model = ?': model ?? undefined, 'org_id = ?': orgId ?? undefined };
        for (const ended of (await pauses.take(q, where)).map(toPause)) {
          const before = presentScope(ended);
          await append(q, stamp, { action: 'batches.resume', target: targetOf(ended), before, after: null });
        }
      }),

    drain: (replica, stamp) =>
      db.tx(async (q) => {
        const row = { ...replica, ...madeBy(stamp) };
        const added = await drains.insert(q, [row], 'ON CONFLICT (id) DO NOTHING RETURNING 1 AS one');
        if (added.length === 0) return;
        const { id: target, ...after } = replica;
        await append(q, stamp, { action: 'replica.drain', target, before: null, after });
      }),

    undrain: (id, stamp) =>
      db.tx(async (q) => {
        const [ended] = await drains.take(q, { id });
        if (!ended) return;
        const before = { model: ended.model, server: ended.server };
        await append(q, stamp, { action: 'replica.undrain', target: id, before, after: null });
      }),

    cap: (replica, stamp) =>
      db.tx(async (q) => {
        const [known] = await caps.all(q, { id: replica.id });
        if (known?.maxInFlight === replica.maxInFlight) return;
        const row = { ...replica, ...madeBy(stamp) };
        const replace =
          'ON CONFLICT (id) DO UPDATE SET max_in_flight = excluded.max_in_flight, since = excluded.since, key_id = excluded.key_id';
        await caps.insert(q, [row], replace);
        const before = known ? presentCap(known) : null;
        await append(q, stamp, {
          action: 'replica.cap',
          target: replica.id,
          before,
          after: presentCap(replica),
        });
      }),

    uncap: (id, stamp) =>
      db.tx(async (q) => {
        const [ended] = await caps.take(q, { id });
        if (!ended) return;
        const before = presentCap(ended);
        await append(q, stamp, { action: 'replica.uncap', target: id, before, after: null });
      }),
  };
}

function madeBy({ at, actor }: AuditStamp): Pick<BatchPause, 'since' | 'keyId'> {
  return { since: at, keyId: actor.keyId ?? '' };
}

function toPause({ model, orgId, ...rest }: PauseRow): BatchPause {
  return { model: model || null, orgId: orgId || null, ...rest };
}

function presentCap({ model, server, maxInFlight }: Omit<ReplicaCap, 'since' | 'keyId'>) {
  return { model, server, max_in_flight: maxInFlight };
}

function presentScope({ model, orgId }: PauseScope) {
  return { model, org_id: orgId };
}

/** The org, the model, or both of a pause; `all` for everything. */
function targetOf({ model, orgId }: PauseScope): string {
  return [orgId, model].filter((each) => each !== null).join(' ') || 'all';
}
