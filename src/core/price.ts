import type { Usage } from './usage.ts';

/** Nano-dollars per million tokens: 0.10 USD per million tokens is 100_000_000. Whole numbers only. */
export interface Prices {
  input: number;
  cachedInput: number;
  output: number;
}

/** A price as it was when a batch was created. */
export interface FrozenPrices extends Prices {
  /** No line names the model: it may only answer in the place of another. */
  isFallback?: true;
}

/**
 * What `usage` costs, in nano-dollars, rounded half up once (api.md, section 8).
 * @param factor 1 for a synchronous request, 0.5 for a batch (specification, section 1)
 */
export function cost(usage: Usage, prices: Prices, factor = 1): bigint {
  const fresh = BigInt(usage.inputTokens - usage.cachedTokens);
  const millionths =
    fresh * BigInt(prices.input) +
    BigInt(usage.cachedTokens) * BigInt(prices.cachedInput) +
    BigInt(usage.outputTokens) * BigInt(prices.output);
  const scale = 1_000_000n;
  const parts = BigInt(Math.round(factor * 1_000_000));
  const divisor = scale * scale;
  return (millionths * parts * 2n + divisor) / (divisor * 2n);
}

/** USD of a configuration file as nano-dollars. */
export function nanoDollars(usd: number): number {
  return Math.round(usd * 1e9);
}

/** A decimal string in dollars without trailing zeros: 1_250_000n is "0.00125". */
export function formatDollars(nano: bigint): string {
  const whole = nano / 1_000_000_000n;
  const rest = (nano % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return rest === '' ? `${whole}` : `${whole}.${rest}`;
}

/** The inverse of `formatDollars`: "0.00125" is 1_250_000n. Digits behind the ninth are dropped. */
export function parseDollars(text: string): bigint {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(rest.slice(0, 9).padEnd(9, '0'));
}
