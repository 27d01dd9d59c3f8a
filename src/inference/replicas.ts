import type { Catalog } from '../core/model.ts';
import type { ReplicaReport } from '../core/replica-state.ts';
import type { Capacity } from './capacity.ts';
import type { Peers } from './peers.ts';
import { replicaId } from './replica-id.ts';

/** Replica of the installation. `slots`, `discovered` and `inFlight` are those of all processes. */
export interface FleetReplica extends ReplicaReport {
  id: string;
}

type OwnModels = { catalog: Catalog; capacity: Pick<Capacity, 'replicas' | 'sharedModels'> };

/** Replicas of this process. */
export function ownReplicas({ catalog, capacity }: OwnModels): ReplicaReport[] {
  const shared = capacity.sharedModels();
  return catalog
    .list()
    .flatMap(({ id }) =>
      capacity.replicas(id).map((state) => ({ ...state, model: id, isShared: shared.has(id) })),
    );
}

/**
 * Replicas of all processes, by model and in the order of the configuration. The state is that of this process where it uses the
 * replica; the reports of the others are up to 10 seconds old.
 */
export function fleetReplicas(deps: OwnModels & { peers: Pick<Peers, 'replicasElsewhere'> }): FleetReplica[] {
  const fleet = new Map<string, FleetReplica>();
  for (const report of [...ownReplicas(deps), ...deps.peers.replicasElsewhere()]) {
    const id = replicaId(report.model, report.name);
    const seen = fleet.get(id);
    if (!seen) {
      fleet.set(id, { ...report, id });
      continue;
    }
    const join = report.isShared ? Math.max : add;
    seen.inFlight += report.inFlight;
    seen.slowdown = higher(seen.slowdown, report.slowdown);
    seen.slots = join(seen.slots, report.slots);
    if (report.discovered !== null) seen.discovered = join(seen.discovered ?? 0, report.discovered);
  }
  return [...fleet.values()];
}

/** The higher number. Processes of versions before report none. */
function higher(a: number | null | undefined, b: number | null | undefined): number | null {
  return Math.max(a ?? 0, b ?? 0) || null;
}

const add = (a: number, b: number) => a + b;
