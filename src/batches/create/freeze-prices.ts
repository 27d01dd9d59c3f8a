import type { BatchEndpoint } from '../../core/batch.ts';
import type { Catalog, Model } from '../../core/model.ts';
import { fallbacksFor, modelFor } from '../../core/model-access.ts';
import type { Caller } from '../../core/org.ts';
import { type FrozenPrices, pricesAt } from '../../core/price.ts';
import { lineFormats } from '../../wire/batch/line-formats.ts';

/** Freezes the prices of all models of the input and of their fallbacks. @throws ApiError for a model that the caller may not use */
export function freezePrices(
  catalog: Pick<Catalog, 'find'>,
  caller: Caller,
  { endpoint, models }: { endpoint: BatchEndpoint | null; models: readonly string[] },
  now: number,
): Record<string, FrozenPrices> {
  const { serves } = lineFormats[endpoint ?? '/v1/chat/completions'];
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
