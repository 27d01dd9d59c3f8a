import { sum } from '../../../../base/sum.ts';
import type { ModelShape } from '../../gguf/shape.ts';
import type { LoadOptions } from '../../protocol.ts';
import { batchSize } from '../scheduling/batch-gate.ts';
import { type CardMemory, type Placement, hostNeed, placeMost, wantedLayers } from './card-memory.ts';

export type WantedContext = Pick<LoadOptions, 'contextSize' | 'sequences' | 'flashAttention'>;
type Need = WantedContext & { contextSize: number };

/** Largest context with `context: auto`, in tokens. */
const autoMaxContext = 4096;
const minContext = 512;
/** With `context: auto`, a context down to this gives way to more layers on the card. */
const minCardContext = 2048;
const maxTokens = 2 ** 31;
/** Bytes of a number in the key-value cache of llama.cpp. */
const cacheNumber = 2;
/** Bytes of a number in computations. */
const workNumber = 4;
/** Memory of the vocabulary, the compiled code and Node. */
export const processBytes = 128 * 1024 ** 2;

/** Memory plan of a model. Sizes are bytes. */
export interface ContextPlan {
  /** Tokens per sequence. */
  contextSize: number;
  cacheBytes: number;
  workBytes: number;
  placement: Placement;
  /** Reason why the model does not fit, and what would; null if it fits. */
  misfit: string | null;
  /** Settings with which all wanted layers would be on the cards, if they are not. */
  cardAdvice: string[];
}

/**
 * Chooses the context size and the layers on graphics cards. With `context: auto` the context shrinks until weights, caches and
 * work fit into the free memory, and down to 2,048 tokens until all layers fit on the cards.
 * @param freeBytes free memory of the processor
 */
export function planContext(
  shape: ModelShape,
  wanted: WantedContext,
  freeBytes: number,
  cards?: CardMemory,
): ContextPlan {
  const { sequences, contextSize: asked } = wanted;
  const placed = (change: Partial<Need>): Placement => {
    const need = { contextSize: 0, sequences, flashAttention: wanted.flashAttention, ...change };
    const cachePerLayer = cacheBytes(shape, need) / Math.max(1, shape.layers);
    const work = workBytes(shape, need);
    return placeMost(shape, { cachePerLayer, work, cardWork: work - processBytes }, cards);
  };
  const fits = (change: Partial<Need>): boolean => hostNeed(placed(change), cards) <= freeBytes;
  const wantedOnCards = wantedLayers(shape, cards);
  const isOnCards = (change: Partial<Need>): boolean =>
    wantedOnCards > 0 && placed(change).layers === wantedOnCards && fits(change);
  const contextSize = asked === 'auto' ? autoContext(shape, fits, isOnCards) : asked;
  const need = { ...wanted, contextSize };
  const placement = placed(need);
  const plan = {
    contextSize,
    cacheBytes: cacheBytes(shape, need),
    workBytes: workBytes(shape, need),
    placement,
    cardAdvice: placement.layers < wantedOnCards ? adviceFor(isOnCards) : [],
  };
  if (fits(need)) return { ...plan, misfit: null };
  const advice = adviceFor(fits);
  const misfit =
    `The model needs ${megabytes(shape.fileBytes)}, ${sequences} sequences of ${contextSize} tokens need ` +
    `${megabytes(plan.cacheBytes)} more and the work on them ${megabytes(plan.workBytes)}, but only ` +
    `${megabytes(freeBytes)} of memory are free${besides(placement)}. ` +
    (advice.length > 0 ? `This would fit: ${advice.join(', or ')}.` : 'Use a smaller model.');
  return { ...plan, misfit };

  /** Single settings with which the plan would meet a condition. */
  function adviceFor(meets: (change: Partial<Need>) => boolean): string[] {
    const fewer = largestFitting(sequences, (count) => meets({ contextSize, sequences: count }));
    const shorter =
      asked === 'auto' ? 0 : largestFitting(contextSize, (size) => meets({ contextSize: size }));
    return [
      ...(wanted.flashAttention || !meets({ contextSize, flashAttention: true })
        ? []
        : ['flash_attention: true']),
      ...(fewer >= 1 ? [`sequences: ${fewer}`] : []),
      ...(shorter >= minContext ? [`context: ${shorter}`] : []),
    ];
  }
}

function besides({ cards }: Placement): string {
  const bytes = sum(cards);
  return bytes > 0 ? `, besides ${megabytes(bytes)} on the graphics card` : '';
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

type Condition = (change: { contextSize: number }) => boolean;

function autoContext({ trainedContext }: ModelShape, fits: Condition, isOnCards: Condition): number {
  const usual = Math.min(trainedContext, autoMaxContext);
  const onCards = largestFitting(usual, (contextSize) => isOnCards({ contextSize }));
  if (onCards >= Math.min(usual, minCardContext)) return onCards;
  const largest = largestFitting(usual, (contextSize) => fits({ contextSize }));
  return Math.min(usual, Math.max(minContext, largest));
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
