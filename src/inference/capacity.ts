import type { ReplicaState } from '../core/replica-state.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import type { OpenBreakers, DiscoveredSlots, SlotShare } from '../core/slot-leases.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { ServedModels } from './served-models.ts';

/** Capacity of the served models, for schedulers and reports. An unknown model has none. */
export interface Capacity {
  /** Number of further batch lines that `modelId` can take now; may be negative. */
  room(modelId: string): number;
  /** Number of requests that `modelId` processes concurrently. */
  slots(modelId: string): number;
  /** Number of batch lines of `modelId` that all processes together may have in flight. */
  limit(modelId: string): number;
  /** Outcomes of the requests of `modelId`: they show whether other requests succeed. */
  outcomes(modelId: string): RequestOutcomes;
  /**
   * Reason why no replica takes requests of `modelId`; null while one does.
   * @param priced names of the fallbacks that count as well; all fallbacks if absent
   */
  waiting(modelId: string, priced?: readonly string[]): WaitingCause | null;
  replicas(modelId: string): readonly ReplicaState[];
  /** True where the lines of `modelId` go on without this process. */
  isDetached(modelId: string): boolean;
  /** Ids of the fallbacks that answer lines of `modelId` now; empty while the model itself does. */
  activeFallbacks(modelId: string): readonly string[];
  /** Calls `listener` whenever some model may have more room. */
  onRoom(listener: () => void): void;
  /** Scope of the engine's prompt cache (engines.ts, `Capabilities`). */
  prefixCache(modelId: string): 'slot' | 'shared' | 'none';
  /** Interactive calls in flight by model, for the heartbeat. */
  interactiveLoad(): Record<string, number>;
  /** Interactive calls of `modelId` in flight to which the lines of all processes give way; null where lines do not. */
  yieldsTo(modelId: string): number | null;
  /** Models whose replicas other processes may use too: the processes lease the slots from one another. */
  sharedModels(): ReadonlySet<string>;
  /** Slots that were discovered under load; undefined where all servers report theirs. */
  discoveredSlots(modelId: string): DiscoveredSlots | undefined;
  /** Replicas of `modelId` whose breakers are open; undefined if there are none. */
  openBreakers(modelId: string): OpenBreakers | undefined;
  /** Sets the models with batches that are expected to miss their windows: their lines get more slots alongside interactive calls. */
  setAtRisk(modelIds: ReadonlySet<string>): void;
  /** Sets this process's share of a shared model; null where the processes could not agree on one. */
  lease(modelId: string, share: SlotShare | null): void;
}

export function createCapacity(models: ServedModels): Capacity {
  const admission = (modelId: string) => models.find(modelId)?.admission;
  const pool = (modelId: string) => models.find(modelId)?.pool;
  return {
    room: (modelId) => admission(modelId)?.room ?? 0,
    slots: (modelId) => pool(modelId)?.slots ?? 0,
    limit: (modelId) => admission(modelId)?.limit ?? 0,
    outcomes: (modelId) => pool(modelId)?.outcomes ?? noOutcomes,
    waiting: (modelId) => pool(modelId)?.waiting ?? null,
    replicas: (modelId) => pool(modelId)?.replicas ?? [],
    isDetached: (modelId) => pool(modelId)?.capabilities.batchOnly ?? false,
    activeFallbacks: () => [],
    onRoom: (listener) => models.onRoom(listener),
    prefixCache: (modelId) => pool(modelId)?.capabilities.prefixCache ?? 'none',
    interactiveLoad: () =>
      Object.fromEntries(
        [...models.all()]
          .map(([id, served]) => [id, served.admission.interactive])
          .filter(([, n]) => n !== 0),
      ),
    yieldsTo: (modelId) => (pool(modelId)?.linesGiveWay ? (admission(modelId)?.interactive ?? 0) : null),
    sharedModels: () => models.shared,
    discoveredSlots: (modelId) => pool(modelId)?.discovered,
    openBreakers: (modelId) => pool(modelId)?.openBreakers,
    setAtRisk(modelIds) {
      for (const [id, served] of models.all()) served.admission.setAtRisk(modelIds.has(id));
    },
    lease(modelId, share) {
      admission(modelId)?.lease(share && share.lines);
      pool(modelId)?.share(share);
    },
  };
}

const noOutcomes: RequestOutcomes = { workedAt: -Infinity, answers: 0, breaks: 0, isBreak: false };
