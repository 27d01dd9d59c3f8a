import { expect, it } from 'vitest';
import { prefixLevels } from '../../files/input-index.ts';
import { estimateUsage } from './estimate.ts';

it('adds a dry run up by the model a name stands for: bytes in, the rest of the estimate out', () => {
  const index = {
    count: 3,
    models: ['tiny', 'alias', 'other'],
    offset: Float64Array.of(0, 41, 142),
    length: Uint32Array.of(40, 101, 8),
    model: Uint16Array.of(0, 1, 2),
    est: Uint32Array.of(110, 126, 2),
    hashes: new Uint32Array(3 * prefixLevels),
  };
  const usage = estimateUsage(index, (name) => (name === 'alias' ? 'tiny' : name));
  expect([...usage]).toEqual([
    ['tiny', { inputTokens: 10 + 26, cachedTokens: 0, outputTokens: 100 + 100 }],
    ['other', { inputTokens: 2, cachedTokens: 0, outputTokens: 0 }],
  ]);
});
