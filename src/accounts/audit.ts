import type { Clock } from '../base/clock.ts';
import type { Actor, AuditChange, AuditStamp } from '../core/audit.ts';
import type { Store } from '../store/store.ts';

/** Log of administrative changes. Changes of orgs and keys are added by the store, with the change. */
export type Audit = ReturnType<typeof createAudit>;

export function createAudit({ store, clock }: { store: Pick<Store, 'audit'>; clock: Clock }) {
  return {
    /** Adds a change that was made. */
    async add(actor: Actor, change: AuditChange): Promise<void> {
      await store.audit.append(stamp(clock, actor), change);
    },
    list: store.audit.list.bind(store.audit),
  };
}

export function stamp(clock: Clock, actor: Actor): AuditStamp {
  return { actor, at: clock.now() };
}
