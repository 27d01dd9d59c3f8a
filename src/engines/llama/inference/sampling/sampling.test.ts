import { describe, expect, test } from 'vitest';
import { needsOneProbability } from './logprobs.ts';
import { samplingOptions } from './sampling.ts';

const vocabulary = { size: 10, isEnd: () => false } as unknown as Parameters<typeof samplingOptions>[1];
const run = { prompt: [1], generated: [], seed: 1 };

describe('the options of the library', () => {
  test.each([undefined, 0, -1])(
    'have no top-k step with top_k %s, because it would sort all tokens',
    (top_k) => {
      expect(samplingOptions({ top_k }, vocabulary, run)).toMatchObject({
        topK: null,
        topP: 1,
        temperature: 1,
      });
    },
  );

  test('have the top-k step of a request', () => {
    expect(samplingOptions({ top_k: 7 }, vocabulary, run).topK).toBe(7);
  });
});

test('one probability is enough for the sampled token alone, if no temperature has to be undone', () => {
  expect(needsOneProbability({ top: 0, temperature: 1 })).toBe(true);
  expect(needsOneProbability({ top: 0, temperature: 0 })).toBe(true);
  expect(needsOneProbability({ top: 0, temperature: 0.7 })).toBe(false);
  expect(needsOneProbability({ top: 1, temperature: 1 })).toBe(false);
});
