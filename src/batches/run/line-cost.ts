import type { Chunk, LineRef } from '../../core/batch.ts';
import { type FrozenPrices, ratesFor } from '../../core/price.ts';
import { tokensOfBytes } from '../../wire/chat/request/estimate-prompt.ts';

/** Prices that a batch froze, by the name of the model. */
interface PricedBatch {
  prices: Readonly<Record<string, FrozenPrices>>;
  priceFactor: number;
}

/** Estimated tokens of one line of the chunk. */
export function tokensPerLine({ est, lines }: Pick<Chunk, 'est' | 'lines'>): number {
  return est / Math.max(1, lines.length);
}

/**
 * Estimated cost of a line in nano-dollars, which budgets reserve while it runs: the tokens of a line of its chunk, all at the
 * higher one of the rates for the length of its prompt.
 */
export function estimatedLineCost(
  chunk: Pick<Chunk, 'est' | 'lines' | 'model'>,
  { length }: Pick<LineRef, 'length'>,
  { prices, priceFactor }: PricedBatch,
): number {
  const frozen = prices[chunk.model];
  if (!frozen) return 0;
  const { input, output } = ratesFor(frozen, tokensOfBytes(length));
  return (tokensPerLine(chunk) * Math.max(input, output) * priceFactor) / 1_000_000;
}
