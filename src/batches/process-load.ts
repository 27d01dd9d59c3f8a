import { sum } from '../base/sum.ts';
import type { WorkerLoad } from '../core/worker-load.ts';
import { ownReplicas } from '../inference/replicas.ts';
import type { WorkerState } from '../store/contract/workers.ts';
import type { ProcessView } from '../wire/admin/processes.ts';
import type { BatchContext } from './batch-context.ts';
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

/**
 * Load of this process, which its heartbeat reports to the peers.
 * @param rates measured for lines of batches
 * @param runsLines false if the process claims no lines of batches
 */
export function currentLoad(
  { catalog, capacity }: Pick<BatchContext, 'catalog' | 'capacity'>,
  { process, lines, rates = {} }: Pick<WorkerLoad, 'process' | 'lines' | 'rates'>,
  runsLines: boolean,
): WorkerLoad {
  const served = catalog.list().flatMap(({ id, aliases }) => [id, ...aliases].map((name) => ({ id, name })));
  const waits = served.flatMap(({ id, name }) => {
    const cause = capacity.waiting(id);
    return cause ? [[name, cause] as const] : [];
  });
  return {
    process,
    lines,
    interactive: capacity.interactiveLoad(),
    serves: runsLines ? served.map(({ name }) => name) : [],
    models: catalog.list(),
    ...(Object.keys(rates).length > 0 && { rates }),
    replicas: ownReplicas({ catalog, capacity }),
    ...(waits.length > 0 && { waits: Object.fromEntries(waits) }),
  };
}
