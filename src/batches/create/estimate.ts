import { cost, type Prices, type Rates, ratesFor } from '../../core/price.ts';
import { addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { InputIndex } from '../../files/input-index.ts';

const bytesPerToken = 4;

/**
 * Estimates the tokens of a batch by their rates, which depend on the model and the length of the prompt of each line. Uncounted
 * prompts get the bytes per token of the model's counted lines, or 4. Output comes from the index, and nothing counts as cached.
 * @param pricesOf prices of a model of the index, by its name
 * @param counted prompt tokens by line, where known
 */
export function estimateUsage(
  index: InputIndex,
  pricesOf: (model: string) => Prices,
  counted: readonly (number | undefined)[],
): Map<Rates, Usage> {
  const totals = index.models.map(() => ({ bytes: 0, tokens: 0 }));
  for (const [line, tokens] of counted.entries()) {
    if (tokens === undefined) continue;
    const ofModel = totals[index.model[line]!]!;
    ofModel.bytes += index.length[line]!;
    ofModel.tokens += tokens;
  }
  const ratios = totals.map(({ bytes, tokens }) => (bytes > 0 ? tokens / bytes : 1 / bytesPerToken));
  const prices = index.models.map(pricesOf);
  const byRates = new Map<Rates, Usage>();
  for (let line = 0; line < index.count; line++) {
    const at = index.model[line]!;
    const length = index.length[line]!;
    const inputTokens = counted[line] ?? Math.ceil(length * ratios[at]!);
    const outputTokens = Math.max(0, index.est[line]! - Math.ceil(length / bytesPerToken));
    const rates = ratesFor(prices[at]!, inputTokens);
    const usage = { ...noUsage, inputTokens, outputTokens };
    byRates.set(rates, addUsage(byRates.get(rates) ?? noUsage, usage));
  }
  return byRates;
}

/** Cost in nano-dollars, rounded once for each of the rates. */
export function estimatedAmount(byRates: ReadonlyMap<Rates, Usage>, factor: number): bigint {
  return [...byRates].reduce((sum, [rates, usage]) => sum + cost(usage, rates, factor), 0n);
}
