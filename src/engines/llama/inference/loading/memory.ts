import type { ModelShape } from '../../gguf/shape.ts';
import type { LoadOptions } from '../../protocol.ts';
import { batchSize } from '../scheduling/batch-gate.ts';

export type WantedContext = Pick<LoadOptions, 'contextSize' | 'sequences' | 'flashAttention'>;
type Need = WantedContext & { contextSize: number };

/** Tokens of context a model gets when the configuration leaves it open. */
const usualContext = 4096;
const minContext = 512;
const maxTokens = 2 ** 31;
/** Bytes of a number in llama.cpp's key-value cache. */
const cacheNumber = 2;
/** Bytes of a number while it is computed with. */
const workNumber = 4;
/** For the vocabulary, the compiled code and Node itself. */
export const processBytes = 128 * 1024 ** 2;

/**
 * Chooses the context size, in tokens of each sequence. An `auto` one shrinks until weights, caches and work fit into `freeBytes`.
 * `misfit` tells why it does not fit into them, and what would; null when it fits.
 */
export function planContext(shape: ModelShape, wanted: WantedContext, freeBytes: number) {
  const { sequences, contextSize: asked } = wanted;
  const needs = (change: Partial<Need>): number => {
    const need = { contextSize: 0, sequences, flashAttention: wanted.flashAttention, ...change };
    return shape.fileBytes + cacheBytes(shape, need) + workBytes(shape, need);
  };
  const fits = (change: Partial<Need>): boolean => needs(change) <= freeBytes;
  const contextSize = asked === 'auto' ? autoContext(shape, (size) => fits({ contextSize: size })) : asked;
  const need = { ...wanted, contextSize };
  const plan = { contextSize, cacheBytes: cacheBytes(shape, need), workBytes: workBytes(shape, need) };
  if (fits(need)) return { ...plan, misfit: null };
  const fewer = largestFitting(sequences, (count) => fits({ contextSize, sequences: count }));
  const shorter = asked === 'auto' ? 0 : largestFitting(contextSize, (size) => fits({ contextSize: size }));
  const advice = [
    ...(wanted.flashAttention || !fits({ contextSize, flashAttention: true })
      ? []
      : ['flash_attention: true']),
    ...(fewer >= 1 ? [`sequences: ${fewer}`] : []),
    ...(shorter >= minContext ? [`context: ${shorter}`] : []),
  ];
  const misfit =
    `The model needs ${megabytes(shape.fileBytes)}, ${sequences} sequences of ${contextSize} tokens need ` +
    `${megabytes(plan.cacheBytes)} more and the work on them ${megabytes(plan.workBytes)}, but only ` +
    `${megabytes(freeBytes)} of memory are free. ` +
    (advice.length > 0 ? `This would fit: ${advice.join(', or ')}.` : 'Take a smaller model.');
  return { ...plan, misfit };
}

function cacheBytes(shape: ModelShape, { contextSize, sequences }: Need): number {
  return shape.layers * (shape.keyWidth + shape.valueWidth) * cacheNumber * sequences * contextSize;
}

/**
 * What llama.cpp reserves for a full batch, all of whose tokens are of one sequence. For each it keeps a mask over the
 * context and a few vectors and then, one after the other in the same place, the scores of every head over the context,
 * the inside of the feed-forward network and the logits. Flash attention keeps no scores, and the mask in half floats.
 */
function workBytes(shape: ModelShape, { contextSize, sequences, flashAttention }: Need): number {
  const mask = flashAttention ? contextSize / 2 : contextSize;
  const scores = flashAttention ? 0 : shape.heads * contextSize;
  const widest = Math.max(scores, 3 * shape.innerWidth, shape.vocabulary);
  return Math.ceil(batchSize(sequences) * (mask + 8 * shape.width + widest) * workNumber) + processBytes;
}

function autoContext({ trainedContext }: ModelShape, fits: (size: number) => boolean): number {
  const usual = Math.min(trainedContext, usualContext);
  return Math.min(usual, Math.max(minContext, largestFitting(usual, fits)));
}

/** The largest number up to `limit` that fits; 0 when none does. What is more fits less. */
function largestFitting(limit: number, fits: (count: number) => boolean): number {
  let [low, high] = [0, Math.min(limit, maxTokens)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MB`;
}
