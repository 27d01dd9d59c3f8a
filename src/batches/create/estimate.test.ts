import { expect, it } from 'vitest';
import { prefixLevels } from '../../files/input-index.ts';
import { estimateUsage } from './estimate.ts';

it('sums a dry run by resolved model: bytes as input, the rest of the estimate as output', () => {
  const index = {
    count: 3,
    models: ['tiny', 'alias', 'other'],
    offset: Float64Array.of(0, 41, 142),
    length: Uint32Array.of(40, 101, 8),
    model: Uint16Array.of(0, 1, 2),
    est: Uint32Array.of(110, 126, 2),
    hashes: new Uint32Array(3 * prefixLevels),
  };
  const modelOf = (name: string) => (name === 'alias' ? 'tiny' : name);
  const usage = estimateUsage(index, modelOf, []);
  expect([...usage]).toEqual([
    [
      'tiny',
      {
        inputTokens: 10 + 26,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 100 + 100,
        reasoningTokens: 0,
      },
    ],
    ['other', { inputTokens: 2, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 }],
  ]);
  // Counted lines set the ratio for the others.
  const more = { ...index, models: ['tiny', 'tiny', 'other'], model: Uint16Array.of(0, 0, 2) };
  expect(estimateUsage(more, modelOf, [8, undefined, 1]).get('tiny')).toMatchObject({
    inputTokens: 8 + 21,
    outputTokens: 100 + 100,
  });
  expect(estimateUsage(more, modelOf, [8, undefined, 1]).get('other')?.inputTokens).toBe(1);
});
