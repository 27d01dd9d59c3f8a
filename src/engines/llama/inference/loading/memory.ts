import type { ModelShape } from '../../gguf/shape.ts';
import type { LoadOptions } from '../../protocol.ts';
import { batchSize } from '../scheduling/batch-gate.ts';

export type WantedContext = Pick<LoadOptions, 'contextSize' | 'sequences' | 'flashAttention'>;
type Need = WantedContext & { contextSize: number };

/** Largest context with `context: auto`, in tokens. */
const autoMaxContext = 4096;
const minContext = 512;
const maxTokens = 2 ** 31;
/** Bytes of a number in the key-value cache of llama.cpp. */
const cacheNumber = 2;
/** Bytes of a number in computations. */
const workNumber = 4;
/** Memory of the vocabulary, the compiled code and Node. */
export const processBytes = 128 * 1024 ** 2;

/**
 * Chooses the context size, in tokens per sequence. With `auto` it shrinks until weights, caches and work fit into `freeBytes`.
 * `misfit` says why the model does not fit and what would; null if it fits.
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
    (advice.length > 0 ? `This would fit: ${advice.join(', or ')}.` : 'Use a smaller model.');
  return { ...plan, misfit };
}

function cacheBytes(shape: ModelShape, { contextSize, sequences }: Need): number {
  return shape.layers * (shape.keyWidth + shape.valueWidth) * cacheNumber * sequences * contextSize;
}

/**
 * Bytes that llama.cpp reserves for a full batch of one sequence. Each token needs a mask over the context and a few vectors.
 * The scores of every head over the context, the inside of the feed-forward network and the logits follow in the same place.
 * Flash attention needs no scores, and half floats for the mask.
 */
function workBytes(shape: ModelShape, { contextSize, sequences, flashAttention }: Need): number {
  const mask = flashAttention ? contextSize / 2 : contextSize;
  const scores = flashAttention ? 0 : shape.heads * contextSize;
  const widest = Math.max(scores, 3 * shape.innerWidth, shape.vocabulary);
  return Math.ceil(batchSize(sequences) * (mask + 8 * shape.width + widest) * workNumber) + processBytes;
}

function autoContext({ trainedContext }: ModelShape, fits: (size: number) => boolean): number {
  const usual = Math.min(trainedContext, autoMaxContext);
  return Math.min(usual, Math.max(minContext, largestFitting(usual, fits)));
}

/** Largest number up to `limit` that fits, by binary search; 0 if none does. */
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
