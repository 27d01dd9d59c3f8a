import { describe, expect, test } from 'vitest';
import { StartError } from '../../../base/start-error.ts';
import { planContext } from './memory.ts';

const megabyte = 1024 ** 2;
/** 16 layers of 512 + 512 half floats: 32 kB a token. */
const shape = {
  layers: 16,
  keyWidth: 512,
  valueWidth: 512,
  trainedContext: 32_768,
  fileBytes: 100 * megabyte,
};

describe('the context that fits', () => {
  test('is 4,096 tokens, or what the model was trained for', () => {
    const wanted = { contextSize: 'auto' as const, sequences: 2 };
    expect(planContext(shape, wanted, 8_000 * megabyte)).toEqual({
      contextSize: 4096,
      cacheBytes: 256 * megabyte,
    });
    expect(planContext({ ...shape, trainedContext: 512 }, wanted, 8_000 * megabyte).contextSize).toBe(512);
  });

  test('shrinks when it was left open, down to 512', () => {
    const wanted = { contextSize: 'auto' as const, sequences: 4 };
    expect(planContext(shape, wanted, 356 * megabyte).contextSize).toBe(1024);
    expect(() => planContext(shape, wanted, 290 * megabyte)).toThrow(/This would fit: sequences: 3\./);
  });

  test('is what was asked for, or an error with what would fit', () => {
    const wanted = { contextSize: 8192, sequences: 4 };
    expect(planContext(shape, wanted, 4_000 * megabyte).cacheBytes).toBe(1024 * megabyte);
    const refuse = () => planContext(shape, wanted, 740 * megabyte);
    expect(refuse).toThrow(StartError);
    expect(refuse).toThrow(
      'The model needs 100 MB and 4 sequences of 8192 tokens need 1024 MB more, but only 740 MB',
    );
    expect(refuse).toThrow('This would fit: sequences: 2, or context: 4096.');
  });

  test('is none for a model larger than the memory', () => {
    expect(() => planContext(shape, { contextSize: 'auto', sequences: 1 }, 50 * megabyte)).toThrow(
      'smaller model',
    );
  });
});
