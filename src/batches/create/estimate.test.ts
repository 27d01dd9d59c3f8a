import { expect, it } from 'vitest';
import type { Prices } from '../../core/price.ts';
import { noUsage } from '../../core/usage.ts';
import { prefixLevels } from '../../files/input-index.ts';
import { estimatedAmount, estimateUsage } from './estimate.ts';

const index = {
  count: 3,
  models: ['tiny', 'alias', 'other'],
  offset: Float64Array.of(0, 41, 142),
  length: Uint32Array.of(40, 101, 8),
  model: Uint16Array.of(0, 1, 2),
  est: Uint32Array.of(110, 126, 2),
  hashes: new Uint32Array(3 * prefixLevels),
};
const long = { above: 10, input: 2_000_000, cachedInput: 0, output: 4_000_000 };
const plain: Prices = { input: 1_000_000, cachedInput: 0, output: 1_000_000 };
const tiered: Prices = { ...plain, tiers: [long] };
const dear: Prices = { input: 7_000_000, cachedInput: 0, output: 0 };

it('sums a dry run by resolved model: bytes as input, the rest of the estimate as output', () => {
  const usage = estimateUsage(index, (name) => (name === 'other' ? dear : plain), []);
  expect([...usage]).toEqual([
    [plain, { ...noUsage, inputTokens: 10 + 26, outputTokens: 100 + 100 }],
    [dear, { ...noUsage, inputTokens: 2 }],
  ]);
  expect(estimatedAmount(usage, 1)).toBe(36n + 200n + 14n);
  expect(estimatedAmount(usage, 0.5)).toBe(118n + 7n);
  // Counted lines set the ratio for the others.
  const more = { ...index, models: ['tiny', 'tiny', 'other'], model: Uint16Array.of(0, 0, 2) };
  const counted = estimateUsage(more, (name) => (name === 'other' ? dear : plain), [8, undefined, 1]);
  expect(counted.get(plain)).toMatchObject({ inputTokens: 8 + 21, outputTokens: 100 + 100 });
  expect(counted.get(dear)?.inputTokens).toBe(1);
});

it('prices each line by the length of its prompt', () => {
  const usage = estimateUsage(index, () => tiered, []);
  expect([...usage]).toEqual([
    [tiered, { ...noUsage, inputTokens: 10 + 2, outputTokens: 100 }],
    [long, { ...noUsage, inputTokens: 26, outputTokens: 100 }],
  ]);
  expect(estimatedAmount(usage, 1)).toBe(12n + 100n + 52n + 400n);
  const counted = estimateUsage(index, () => tiered, [11, 10, 11]);
  expect(counted.get(long)).toEqual({ ...noUsage, inputTokens: 22, outputTokens: 100 });
});
