import { describe, expect, it } from 'vitest';
import { costOf, tokensPerSecond } from './measures.ts';

const usage = {
  inputTokens: 1_000,
  cachedTokens: 400,
  cacheWriteTokens: 0,
  outputTokens: 101,
  reasoningTokens: 0,
};

describe('costOf', () => {
  const rates = { input: '1', cached_input: '0.1', output: '4' };
  const pricing = { currency: 'USD', unit: '1M tokens', ...rates } as const;

  it('counts cached tokens at their price', () => {
    expect(costOf(usage, pricing)).toBe('0.001044');
  });

  it('takes the tier of the length of the prompt', () => {
    const tiers = [{ above: 999, input: '2', cached_input: '0.2', output: '8' }];
    expect(costOf(usage, { ...pricing, tiers })).toBe('0.002088');
    expect(costOf({ ...usage, inputTokens: 999 }, { ...pricing, tiers })).toBe('0.001043');
  });
});

describe('tokensPerSecond', () => {
  it('counts a stream from its first token', () => {
    expect(tokensPerSecond({ startedAt: 0, firstAt: 500, endedAt: 1_500, answer: { usage } })).toBe(100);
  });

  it('counts an answer in one piece from the request on', () => {
    expect(tokensPerSecond({ startedAt: 0, firstAt: null, endedAt: 2_000, answer: { usage } })).toBe(50.5);
  });

  it.each([
    { startedAt: 0, firstAt: 500, endedAt: null, answer: { usage } },
    { startedAt: 0, firstAt: 500, endedAt: 900, answer: { usage: null } },
    { startedAt: 0, firstAt: 500, endedAt: 500, answer: { usage } },
  ])('is unknown for %j', (run) => {
    expect(tokensPerSecond(run)).toBeNull();
  });
});
