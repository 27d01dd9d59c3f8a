import { describe, expect, test } from 'vitest';
import { modelShape } from '../../../../../test/support/model-shape.ts';
import { planContext } from './memory.ts';

const megabyte = 1024 ** 2;
const shape = modelShape(5);
const open = { contextSize: 'auto', sequences: 4, flashAttention: false } as const;

describe('the context that fits', () => {
  test('is 4,096 tokens, or the trained context', () => {
    expect(planContext(shape, { ...open, sequences: 2 }, 8_000 * megabyte)).toMatchObject({
      contextSize: 4096,
      cacheBytes: 256 * megabyte,
    });
    expect(planContext({ ...shape, trainedContext: 512 }, open, 8_000 * megabyte).contextSize).toBe(512);
  });

  test('shrinks with `auto`, down to 512, and fits', () => {
    const free = 420 * megabyte;
    const plan = planContext(shape, open, free);
    expect(plan.contextSize).toBeGreaterThan(512);
    expect(plan.contextSize).toBeLessThan(4096);
    expect(shape.fileBytes + plan.cacheBytes + plan.workBytes).toBeLessThanOrEqual(free);
    const next = planContext(shape, { ...open, contextSize: plan.contextSize + 1 }, Infinity);
    expect(shape.fileBytes + next.cacheBytes + next.workBytes).toBeGreaterThan(free);
    expect(planContext(shape, open, 290 * megabyte).misfit).toMatch(/This would fit: .*sequences: [23]\./);
  });

  test('is the configured one, or an error with what would fit', () => {
    const wanted = { ...open, contextSize: 8192 };
    expect(planContext(shape, wanted, 4_000 * megabyte).cacheBytes).toBe(1024 * megabyte);
    const { misfit } = planContext(shape, wanted, 940 * megabyte);
    expect(misfit).toMatch(
      /^The model needs 100 MB, 4 sequences of 8192 tokens need 1024 MB more and the work on them \d+ MB, but only 940 MB/,
    );
    expect(misfit).toMatch(/This would fit: sequences: 2, or context: \d{4}\./);
  });

  test('is longer with flash attention, which needs no scores', () => {
    const wanted = { ...open, contextSize: 8192, sequences: 1 };
    const plain = planContext(shape, wanted, Infinity).workBytes;
    const flash = planContext(shape, { ...wanted, flashAttention: true }, Infinity).workBytes;
    // Eight heads and half a mask, 513 tokens, four bytes; the inside of the network takes the place of the scores.
    expect(plain - flash).toBe((8.5 * 8192 - 3 * 1024) * 513 * 4);
    expect(planContext(shape, wanted, 600 * megabyte).misfit).toContain(
      'would fit: flash_attention: true, or',
    );
  });

  test('counts the logits of a large vocabulary', () => {
    const wordy = { ...shape, vocabulary: 150_000 };
    expect(planContext(wordy, open, Infinity).workBytes).toBeGreaterThan(128 * megabyte + 150_000 * 516 * 4);
  });

  test('is none for a model larger than the memory', () => {
    expect(planContext(shape, { ...open, sequences: 1 }, 50 * megabyte).misfit).toContain('smaller model');
  });
});
