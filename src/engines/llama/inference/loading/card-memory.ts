import { sum } from '../../../../base/sum.ts';
import type { ModelShape } from '../../gguf/shape.ts';

/** Memory of the graphics cards, and the wish for their use. */
export interface CardMemory {
  /** Free bytes of each card. */
  free: readonly number[];
  /** True if this is memory of the processor. */
  isShared: boolean;
  layers: number | 'auto';
  /** Bytes of each card that are left to others. */
  reserve: number;
}

/** Bytes that a context adds to the weights. */
export interface ContextBytes {
  /** Key-value caches of all sequences in one layer. */
  cachePerLayer: number;
  /** Working memory of the processor. */
  work: number;
  /** Working memory of each card that has a part of the model. */
  cardWork: number;
}

/** Division of a model between the processor and the cards, in bytes. */
export interface Placement {
  /** Layers on the cards, of which the output is one. */
  layers: number;
  host: number;
  cards: number[];
}

/** Layers of a model in the count of llama.cpp, with the output. */
export const layerCount = (shape: ModelShape): number => shape.layers + 1;

/**
 * Places the last `layers` of a model on the cards, as llama.cpp does: the output first, then the last layers, in shares of the
 * free memory of the cards. The vocabulary and the other layers stay with the processor.
 */
export function place(
  shape: ModelShape,
  { cachePerLayer, work, cardWork }: ContextBytes,
  layers: number,
  free: readonly number[],
): Placement {
  const { weights, fileBytes } = shape;
  const first = layerCount(shape) - layers;
  const sizes = [...weights.layers.map((bytes) => bytes + cachePerLayer), weights.output].slice(first);
  const cards = free.map(() => 0);
  for (const [index, bytes] of sizes.entries()) cards[cardOf(index / layers, free)]! += bytes;
  // Large batches copy the weights and caches of the processor's layers to the card, one at a time.
  const copied = layers > 0 && first > 0 ? weights.largest + cachePerLayer : 0;
  const moved =
    sum(weights.layers.slice(first)) + (layers > 0 && !weights.isOutputShared ? weights.output : 0);
  return {
    layers,
    host: fileBytes - moved + Math.min(first, shape.layers) * cachePerLayer + work,
    cards: cards.map((bytes) => (bytes > 0 ? bytes + cardWork + copied : 0)),
  };
}

/** Number of the card that gets a layer. @param share of the layers on cards that come before it */
function cardOf(share: number, free: readonly number[]): number {
  const all = sum(free);
  let before = 0;
  const found = free.findIndex((bytes) => share < (before += bytes) / all);
  return found === -1 ? free.length - 1 : found;
}

/** Layers that are wanted on the cards; 0 without cards. */
export function wantedLayers(shape: ModelShape, memory: CardMemory | undefined): number {
  if (!memory || memory.free.length === 0) return 0;
  return memory.layers === 'auto' ? layerCount(shape) : Math.min(memory.layers, layerCount(shape));
}

/** Placement with as many of the wanted layers on the cards as fit there. */
export function placeMost(
  shape: ModelShape,
  context: ContextBytes,
  memory: CardMemory | undefined,
): Placement {
  const free = memory?.free ?? [];
  for (let layers = wantedLayers(shape, memory); layers > 0; layers--) {
    const placement = place(shape, context, layers, free);
    if (placement.cards.every((bytes, card) => bytes <= free[card]! - memory!.reserve)) return placement;
  }
  return place(shape, context, 0, free);
}

/** Bytes of the processor's memory that a placement needs. */
export function hostNeed({ host, cards }: Placement, memory: CardMemory | undefined): number {
  return host + (memory?.isShared ? sum(cards) : 0);
}
