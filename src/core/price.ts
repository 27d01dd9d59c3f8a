import type { Usage } from './usage.ts';

/** Whole nano-dollars per million tokens: 0.10 USD is 100_000_000. */
export interface Rates {
  input: number;
  /** Input that the engine had in its cache. */
  cachedInput: number;
  /** Input that the engine wrote to its cache; as `input` if absent. */
  cacheWrite?: number;
  output: number;
}

export interface Prices extends Rates {
  /** Rates of requests with longer prompts, ascending. */
  tiers?: readonly Tier[];
}

/** Rates of requests with more input tokens than `above`. */
export interface Tier extends Rates {
  above: number;
}

/** Prices of a model, with those that apply from later instants on, ascending. */
export interface PriceList extends Prices {
  changes?: readonly (Prices & { from: number })[];
}

/** Prices at an instant. @param now epoch milliseconds */
export function pricesAt(list: PriceList, now: number): Prices {
  const { changes, ...first } = list;
  if (!changes) return list;
  const current = changes.findLast(({ from }) => from <= now);
  if (!current) return first;
  const { from: _, ...prices } = current;
  return prices;
}

/** Prices at the creation of a batch. */
export interface FrozenPrices extends Prices {
  /** True for a model that no line names and that only serves as a fallback. */
  isFallback?: true;
}

/** A nano-dollar has this many parts: prices are per million tokens, and factors have six decimals. */
export const costParts = 1_000_000_000_000;

/** Cost without rounding. Plain numbers, because it is stored, and sent between threads. */
export interface ExactCost {
  /** Whole nano-dollars. */
  nano: number;
  /** Below `costParts`. */
  parts: number;
}

export const noCost: ExactCost = Object.freeze({ nano: 0, parts: 0 });

/** Rates of a request whose prompt has that many tokens. */
export function ratesFor(prices: Prices, inputTokens: number): Rates {
  return prices.tiers?.findLast(({ above }) => inputTokens > above) ?? prices;
}

/** Cost of one request. @param factor 1 for an interactive request, that of its window for a batch */
export function exactCost(usage: Usage, prices: Prices, factor = 1): ExactCost {
  const rates = ratesFor(prices, usage.inputTokens);
  const millionths = factor === 1 ? plainMillionths(usage, rates) : undefined;
  if (millionths !== undefined) {
    const parts = millionths % 1_000_000;
    return { nano: (millionths - parts) / 1_000_000, parts: parts * 1_000_000 };
  }
  const all = inParts(usage, rates, factor);
  const divisor = BigInt(costParts);
  return { nano: Number(all / divisor), parts: Number(all % divisor) };
}

export function addCosts(a: ExactCost, b: ExactCost): ExactCost {
  const parts = a.parts + b.parts;
  const carry = parts >= costParts ? 1 : 0;
  return { nano: a.nano + b.nano + carry, parts: parts - carry * costParts };
}

/** Rounds half up to nano-dollars. */
export function roundCost({ nano, parts }: ExactCost): number {
  return nano + (parts * 2 >= costParts ? 1 : 0);
}

/** Estimated cost of a single request in nano-dollars, without a cache. */
export function estimatedCost(tokens: Pick<Usage, 'inputTokens' | 'outputTokens'>, prices: Prices): number {
  const { input, output } = ratesFor(prices, tokens.inputTokens);
  return Math.ceil((tokens.inputTokens * input + tokens.outputTokens * output) / 1_000_000);
}

/** Rounds up to nano-dollars. */
export function ceilCost({ nano, parts }: ExactCost): number {
  return nano + (parts > 0 ? 1 : 0);
}

/** Increase of the rounded cost when `by` was added, which made it `sum`. */
export function roundedIncrease(sum: ExactCost, by: ExactCost): number {
  const borrow = sum.parts < by.parts ? 1 : 0;
  const before = { nano: sum.nano - by.nano - borrow, parts: sum.parts - by.parts + borrow * costParts };
  return roundCost(sum) - roundCost(before);
}

/**
 * Cost of a sum of requests in nano-dollars, rounded half up once; may exceed the safe integers. Where the lengths of the prompts are
 * unknown, the rates of short ones count.
 */
export function cost(usage: Usage, prices: Rates, factor = 1): bigint {
  const divisor = BigInt(costParts);
  return (inParts(usage, prices, factor) * 2n + divisor) / (divisor * 2n);
}

/** Cost in millionths of a nano-dollar, if plain numbers are exact. */
function plainMillionths(usage: Usage, prices: Rates): number | undefined {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens } = usage;
  const millionths =
    (inputTokens - cachedTokens - cacheWriteTokens) * prices.input +
    cachedTokens * prices.cachedInput +
    cacheWriteTokens * (prices.cacheWrite ?? prices.input) +
    outputTokens * prices.output;
  // Rounded terms can only sum up to a safe integer if one of them is negative.
  return millionths >= 0 && Number.isSafeInteger(millionths) && inputTokens >= cachedTokens + cacheWriteTokens
    ? millionths
    : undefined;
}

function inParts(usage: Usage, prices: Rates, factor: number): bigint {
  const fresh = BigInt(usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens);
  const millionths =
    fresh * BigInt(prices.input) +
    BigInt(usage.cachedTokens) * BigInt(prices.cachedInput) +
    BigInt(usage.cacheWriteTokens) * BigInt(prices.cacheWrite ?? prices.input) +
    BigInt(usage.outputTokens) * BigInt(prices.output);
  return millionths * BigInt(Math.round(factor * 1_000_000));
}

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
