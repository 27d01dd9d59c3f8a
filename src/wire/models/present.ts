import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars } from '../../core/price.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import { toWaiting } from '../../core/waiting.ts';
import { listBody } from '../shared/list-body.ts';
import { presentWaiting } from '../shared/waiting.ts';
import type { ModelPage } from './list.ts';

/** State of a model as the reporting process sees it. */
export interface ModelState {
  /** True if only other processes serve the model. */
  batchOnly: boolean;
  slots: number | null;
  /** Absent if the caller may not see them. */
  replicas?: readonly ReplicaState[];
}

/** Model resource, readable by OpenAI and Anthropic SDKs. */
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
  const reason = presentWaiting(waiting && toWaiting(waiting));
  return { name, health, slots, in_flight: inFlight, waiting: reason };
}
