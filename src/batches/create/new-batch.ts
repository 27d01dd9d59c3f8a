import { sum } from '../../base/sum.ts';
import { type Batch, type BatchEndpoint, newBatch } from '../../core/batch.ts';
import type { BatchWindow } from '../../core/batch-window.ts';
import { priorities } from '../../core/limits.ts';
import type { Catalog, Model } from '../../core/model.ts';
import { fallbacksFor, modelFor } from '../../core/model-access.ts';
import type { Caller } from '../../core/org.ts';
import { type FrozenPrices, pricesAt } from '../../core/price.ts';
import type { InputIndex } from '../../files/input-index.ts';
import { lineFormats } from '../../wire/batch/line-formats.ts';
import type { CreateDeps } from '../batch-context.ts';
import { placeIn } from './windows.ts';

/** Fields that do not follow from the caller, the requests and the window. */
type GivenFields = Pick<
  Batch,
  | ('id' | 'endpoint' | 'priority' | 'inputFileId' | 'inputName' | 'metadata' | 'tag')
  | ('warnings' | 'retryOf' | 'tier' | 'resultTtlMs')
>;

/**
 * Batch or group of the requests in an index, created now: with their prices, and its place in the queue.
 * @throws ApiError for a model that the caller may not use
 */
export function batchOf(
  { catalog, clock, billingClock }: Pick<CreateDeps, 'catalog' | 'clock' | 'billingClock'>,
  caller: Caller,
  index: InputIndex,
  { ms: windowMs, priceFactor }: BatchWindow,
  given: GivenFields,
): Batch {
  const { orgId, keyId, keyFamily = null } = caller;
  const createdAt = clock.now();
  const est = sum(index.est);
  const models = new Set(index.models.map(catalog.idOf));
  return newBatch({
    ...given,
    orgId,
    keyId,
    keyFamily,
    total: index.count,
    est,
    model: models.size === 1 ? [...models][0]! : null,
    prices: freezePrices(catalog, caller, given.endpoint, index.models, billingClock.now()),
    priceFactor,
    windowMs,
    createdAt,
    ...placeIn(windowMs, createdAt, { est, priority: given.priority }),
  });
}

/** Priority of a new batch: the requested one, or the default as far as the key may have it. */
export function priorityFor({ maxPriority = priorities.max }: Caller, asked?: number): number {
  return asked ?? Math.min(priorities.default, maxPriority);
}

/** Freezes the prices of all models of the input and of their fallbacks. @throws ApiError for a model that the caller may not use */
export function freezePrices(
  catalog: Pick<Catalog, 'find'>,
  caller: Caller,
  endpoint: BatchEndpoint,
  models: readonly string[],
  now: number,
): Record<string, FrozenPrices> {
  const { serves } = lineFormats[endpoint];
  const prices: Record<string, FrozenPrices> = Object.create(null);
  const fallbacks: Model[] = [];
  for (const name of models) {
    const model = modelFor(catalog, caller, name, serves);
    prices[model.id] = pricesAt(model.prices, now);
    if (model.batchFallbacksAfterMs !== undefined)
      fallbacks.push(...fallbacksFor(catalog, model, caller, serves));
  }
  for (const { id, prices: frozen } of fallbacks)
    prices[id] ??= { ...pricesAt(frozen, now), isFallback: true };
  return prices;
}
