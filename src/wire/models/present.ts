import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars, pricesAt, type Rates } from '../../core/price.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import { toWaiting } from '../../core/waiting.ts';
import { listBody } from '../shared/list-body.ts';
import { presentWaiting } from '../shared/waiting.ts';
import type { ModelPage } from './list.ts';

/** State of a model as the reporting process sees it. */
export interface ModelState {
  /** True if only other processes serve the model. */
  batchOnly: boolean;
  /** Epoch milliseconds, for the prices. */
  now?: number;
  slots: number | null;
  /** Absent if the caller may not see them. */
  replicas?: readonly ReplicaState[];
}

/** Model resource, readable by OpenAI and Anthropic SDKs. */
export function presentModel(model: Model, { batchOnly, slots, replicas, now = 0 }: ModelState) {
  const prices = pricesAt(model.prices, now);
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
      ...presentRates(prices),
      ...(prices.tiers && {
        tiers: prices.tiers.map(({ above, ...rates }) => ({ above, ...presentRates(rates) })),
      }),
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

function presentRates({ input, cachedInput, cacheWrite, output }: Rates) {
  const usd = (nano: number) => formatDollars(BigInt(nano));
  return {
    input: usd(input),
    cached_input: usd(cachedInput),
    ...(cacheWrite !== undefined && { cache_write: usd(cacheWrite) }),
    output: usd(output),
  };
}

function presentReplica({ name, health, slots, inFlight, waiting }: ReplicaState) {
  const reason = presentWaiting(waiting && toWaiting(waiting));
  return { name, health, slots, in_flight: inFlight, waiting: reason };
}
