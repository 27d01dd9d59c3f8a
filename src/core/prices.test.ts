import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cost as roundedCost, costParts, estimatedCost, exactCost, pricesAt, roundCost } from './price.ts';
import { noUsage } from './usage.ts';

const base = {
  input: 3_000_000_000,
  cachedInput: 300_000_000,
  cacheWrite: 3_750_000_000,
  output: 15_000_000_000,
};
const used = (inputTokens: number, cachedTokens = 0, cacheWriteTokens = 0, outputTokens = 0) => ({
  ...noUsage,
  inputTokens,
  cachedTokens,
  cacheWriteTokens,
  outputTokens,
});

const anyCount = fc.nat({ max: 2_000_000 });
const anyUsage = fc
  .record({ fresh: anyCount, cachedTokens: anyCount, cacheWriteTokens: anyCount, outputTokens: anyCount })
  .map(({ fresh, ...more }) => ({
    ...more,
    inputTokens: fresh + more.cachedTokens + more.cacheWriteTokens,
    reasoningTokens: 0,
  }));
// Up to 100,000 USD per million tokens, at which millions of tokens exceed the safe integers.
const price = fc.oneof(fc.nat({ max: 1_000_000_000 }), fc.nat({ max: 100_000_000_000_000 }));
const anyPrices = fc.record(
  { input: price, cachedInput: price, output: price, cacheWrite: price },
  { requiredKeys: ['input', 'cachedInput', 'output'] },
);

describe('prices', () => {
  it('charge cache reads and writes at their own rates', () => {
    // 10 fresh x 3000 + 20 read x 300 + 30 written x 3750 + 2 x 15000 nano-dollars
    expect(exactCost(used(60, 20, 30, 2), base)).toEqual({ nano: 178_500, parts: 0 });
    const { cacheWrite: _, ...plain } = base;
    expect(exactCost(used(60, 20, 30, 2), plain)).toEqual({ nano: 156_000, parts: 0 });
  });

  it('depend on the length of the prompt, for all tokens of a request', () => {
    const tiers = [
      { above: 100, input: 2_000_000, cachedInput: 2_000_000, output: 0 },
      { above: 200, input: 5_000_000, cachedInput: 5_000_000, output: 0 },
    ];
    const prices = { input: 1_000_000, cachedInput: 1_000_000, output: 0, tiers };
    const cost = (tokens: number) => roundCost(exactCost(used(tokens), prices));
    expect([cost(100), cost(101), cost(200), cost(201)]).toEqual([100, 202, 400, 1_005]);
    const estimate = (inputTokens: number) => estimatedCost({ inputTokens, outputTokens: 0 }, prices);
    expect([estimate(100), estimate(101), estimate(201)]).toEqual([100, 202, 1_005]);
  });

  it('change at their time', () => {
    const list = {
      ...base,
      changes: [
        { from: 10, ...base, input: 2 },
        { from: 20, ...base, input: 1 },
      ],
    };
    expect([9, 10, 19, 20].map((now) => pricesAt(list, now).input)).toEqual([base.input, 2, 2, 1]);
    expect([pricesAt(list, 9), pricesAt(list, 20)]).toEqual([base, { ...base, input: 1 }]);
  });

  it('add up exactly', () => {
    const third = { input: 333_333, cachedInput: 0, output: 0 };
    expect(exactCost(used(7), third, 0.5)).toEqual({ nano: 1, parts: 0.1666655 * costParts });
  });

  it('are exact for any usage and prices', () => {
    fc.assert(
      fc.property(anyUsage, anyPrices, (given, rates) => {
        const { nano, parts } = exactCost(given, rates);
        const { cacheWrite = rates.input } = rates;
        const fresh = given.inputTokens - given.cachedTokens - given.cacheWriteTokens;
        const millionths = [
          [fresh, rates.input],
          [given.cachedTokens, rates.cachedInput],
          [given.cacheWriteTokens, cacheWrite],
          [given.outputTokens, rates.output],
        ].reduce((sum, [count, rate]) => sum + BigInt(count!) * BigInt(rate!), 0n);
        expect(BigInt(nano) * BigInt(costParts) + BigInt(parts)).toBe(millionths * 1_000_000n);
        expect(parts).toBeLessThan(costParts);
        expect(BigInt(roundCost({ nano, parts }))).toBe(roundedCost(given, rates));
      }),
    );
  });
});
