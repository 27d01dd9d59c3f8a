import type { Usage } from './usage.ts';

/** Whole nano-dollars per million tokens: 0.10 USD is 100_000_000. */
export interface Prices {
  input: number;
  cachedInput: number;
  output: number;
}

/** Prices at the creation of a batch. */
export interface FrozenPrices extends Prices {
  /** True for a model that no line names and that only serves as a fallback. */
  isFallback?: true;
}

/** Cost in nano-dollars, rounded half up once. @param factor 1 for an interactive request, `batch.price_factor` for a batch */
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

/** Converts USD to nano-dollars. */
export function nanoDollars(usd: number): number {
  return Math.round(usd * 1e9);
}

/** Decimal dollars without trailing zeros: 1_250_000n is "0.00125". */
export function formatDollars(nano: bigint): string {
  const whole = nano / 1_000_000_000n;
  const rest = (nano % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return rest === '' ? `${whole}` : `${whole}.${rest}`;
}

/** Inverse of `formatDollars`. Digits after the ninth are dropped. */
export function parseDollars(text: string): bigint {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(rest.slice(0, 9).padEnd(9, '0'));
}
