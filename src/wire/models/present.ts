import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars } from '../../core/price.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import { toWaiting } from '../../core/waiting.ts';
import { listBody } from '../shared/list-body.ts';
import { presentWaiting } from '../shared/waiting.ts';
import type { ModelPage } from './list.ts';

/** How a model is in the process that tells it. */
export interface ModelState {
  /** Only other processes serve it. */
  batchOnly: boolean;
  /** How many requests it works on at once, where that is known. */
  slots: number | null;
  /** Its servers; absent where they are not the caller's business. */
  replicas?: readonly ReplicaState[];
}

/** A model as both SDK families read it (wire-formats.md, section 1e), what it serves and costs, and for operators its servers. */
export function presentModel(model: Model, { batchOnly, slots, replicas }: ModelState) {
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
    slots,
    batch_only: batchOnly,
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

export function presentModels({ models, hasMore }: ModelPage, stateOf: (model: Model) => ModelState) {
  return listBody(
    models.map((model) => presentModel(model, stateOf(model))),
    hasMore,
  );
}

function presentReplica({ name, health, slots, inFlight, waiting }: ReplicaState) {
  return {
    name,
    health,
    slots,
    in_flight: inFlight,
    waiting: presentWaiting(waiting && toWaiting(waiting)),
  };
}
