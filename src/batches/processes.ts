import { sum } from '../base/sum.ts';
import type { WorkerState } from '../store/contract/workers.ts';
import type { ProcessView } from '../wire/admin/processes.ts';
import { leaseLifeMs } from './maintenance/heartbeat.ts';

/** A process as operators see it. Leases of slots that have lapsed are left out. */
export function toProcess({ id, beatAt, load, chunks, lines, slots }: WorkerState, now: number): ProcessView {
  return {
    id,
    info: load.process ?? null,
    seenAt: beatAt,
    role: load.process?.role ?? 'all',
    isAlive: now - beatAt < leaseLifeMs,
    models: (load.models ?? []).map((model) => model.id),
    inFlight: { lines: load.lines ?? 0, requests: sum(Object.values(load.interactive)) },
    leased: { chunks, lines },
    slots: slots.filter(({ until, slots: count }) => until > now && count > 0),
  };
}
