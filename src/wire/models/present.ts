import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { Model } from '../../core/model.ts';
import { formatDollars } from '../../core/price.ts';
import { listBody } from '../list.ts';
import type { ModelPage } from './list.ts';

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

export function presentModels({ models, hasMore }: ModelPage) {
  return listBody(models.map(presentModel), hasMore);
}
