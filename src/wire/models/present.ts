import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars } from '../../core/price.ts';

/** A model as both SDK families read it (wire-formats.md, section 1e), and what it serves and costs. */
export function presentModel(model: Model) {
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
    pricing: {
      currency: 'USD',
      unit: '1M tokens',
      input: formatDollars(BigInt(input)),
      cached_input: formatDollars(BigInt(cachedInput)),
      output: formatDollars(BigInt(output)),
    },
  };
}

export function presentModels(models: readonly Model[]) {
  return {
    object: 'list',
    data: models.map(presentModel),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  };
}
