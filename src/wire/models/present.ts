import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars } from '../../core/price.ts';
import { type WaitingCause, waitingFor } from '../../core/waiting.ts';
import { listBody } from '../list.ts';
import { presentWaiting } from '../waiting.ts';
import type { ModelPage } from './list.ts';

/** One of the servers of a model; `ReplicaState` of `engines/` is one. */
export interface PresentableReplica {
  name: string;
  health: 'up' | 'open' | 'half-open' | 'draining';
  slots: number;
  inFlight: number;
  waiting: WaitingCause | null;
}

/** A model as both SDK families read it (wire-formats.md, section 1e), what it serves and costs, and for operators its servers. */
export function presentModel(model: Model, replicas?: readonly PresentableReplica[]) {
  const { input, cachedInput, output } = model.prices;
  return {
    id: model.id,
    object: 'model',
    created: unixSeconds(model.createdAt),
    owned_by: 'offpeak',
    type: 'model',
    display_name: model.id,
    created_at: isoSeconds(model.createdAt),
    aliases: model.aliases,
    serves: model.serves,
    context_length: model.contextLength ?? null,
    pricing: {
      currency: 'USD',
      unit: '1M tokens',
      input: formatDollars(BigInt(input)),
      cached_input: formatDollars(BigInt(cachedInput)),
      output: formatDollars(BigInt(output)),
    },
    ...(replicas && { replicas: replicas.map(presentReplica) }),
  };
}

/** @param replicasOf absent where the servers are not the caller's business */
export function presentModels(
  { models, hasMore }: ModelPage,
  replicasOf?: (modelId: string) => readonly PresentableReplica[],
) {
  return listBody(
    models.map((model) => presentModel(model, replicasOf?.(model.id))),
    hasMore,
  );
}

function presentReplica({ name, health, slots, inFlight, waiting }: PresentableReplica) {
  return {
    name,
    health,
    slots,
    in_flight: inFlight,
    waiting: presentWaiting(waiting && waitingFor(waiting)),
  };
}
