import {
  exactCost,
  formatDollars,
  parseDollars,
  type Prices,
  type Rates,
  roundCost,
} from '../../../../src/core/price.ts';
import type { Usage } from '../../../../src/core/usage.ts';
import type { Item } from '../../api/client.ts';
import type { Run } from './run.ts';

type Pricing = Item<'/v1/models'>['pricing'];

/** Cost in decimal dollars of one interactive request, from the prices that a model shows. */
export function costOf(usage: Usage, pricing: Pricing): string {
  const tiers = pricing.tiers?.map((tier) => ({ above: tier.above, ...toRates(tier) }));
  const prices: Prices = { ...toRates(pricing), ...(tiers && { tiers }) };
  return formatDollars(BigInt(roundCost(exactCost(usage, prices))));
}

function toRates(shown: Pick<Pricing, 'input' | 'cached_input' | 'cache_write' | 'output'>): Rates {
  const nano = (dollars: string) => Number(parseDollars(dollars));
  return {
    input: nano(shown.input),
    cachedInput: nano(shown.cached_input),
    ...(shown.cache_write !== undefined && { cacheWrite: nano(shown.cache_write) }),
    output: nano(shown.output),
  };
}

type Timed = Pick<Run, 'startedAt' | 'firstAt' | 'endedAt'> & { answer: Pick<Run['answer'], 'usage'> };

/**
 * Output tokens per second: of a stream after its first token, otherwise of the whole request. Null before the end, without usage, and
 * where the time is too short to measure.
 */
export function tokensPerSecond({ startedAt, firstAt, endedAt, answer }: Timed): number | null {
  if (endedAt === null || answer.usage === null) return null;
  const ms = endedAt - (firstAt ?? startedAt);
  const tokens = answer.usage.outputTokens - (firstAt === null ? 0 : 1);
  return ms < 1 || tokens < 1 ? null : (tokens * 1_000) / ms;
}
