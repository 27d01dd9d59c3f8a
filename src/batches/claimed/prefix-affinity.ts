import type { Capacity } from '../../inference/capacity.ts';
import type { ClaimedChunk, ClaimedChunks } from './claimed-chunks.ts';

/** Chunks in hand at the same time on account of lanes alone; each has up to 64 lines. */
const maxPrefixes = 32;

/**
 * A prefix gets a further slot for so many of its lines: the prompt is read once more there. Where answers are longer
 * than prompts, waiting costs more than reading, and a slot is worth it sooner.
 */
const linesASlot = { longPrompts: 16, longAnswers: 4 } as const;
const bytesAToken = 4;

/** What the slots of an engine are at, for choosing its next line. */
export interface SlotPrefixes {
  /** Lines in flight that share this chunk's prefix. */
  inFlight(claimed: ClaimedChunk): number;
  /** Whether the prefix is in none of the slots, as far as one can tell. */
  isCold(claimed: ClaimedChunk): boolean;
  /** Whether one more line would only push another prefix out of its slot. */
  isFull(claimed: ClaimedChunk): boolean;
}

/**
 * Lanes (batch-engine.md, "Running"): where each slot of an engine keeps a prefix cache of its own, a prefix stays with one slot
 * and one line of it is in flight at a time, for as long as there are as many prefixes as slots.
 */
export class PrefixAffinity {
  #capacity: Pick<Capacity, 'prefixCache' | 'slots'>;
  #chunks: ClaimedChunks;
  /** By model, the prefixes sent last, as many as there are slots; the latest at the end. */
  #warm = new Map<string, Set<string>>();

  constructor(capacity: Pick<Capacity, 'prefixCache' | 'slots'>, chunks: ClaimedChunks) {
    this.#capacity = capacity;
    this.#chunks = chunks;
  }

  /** Null for models without lanes. */
  snapshot(model: string): SlotPrefixes | null {
    if (this.#capacity.prefixCache(model) !== 'slot') return null;
    const lanes = new Map<string, PrefixLoad>();
    for (const claimed of this.#chunks.all) if (claimed.model === model) addTo(lanes, claimed);
    const slots = this.#capacity.slots(model);
    const warm = this.#warm.get(model);
    const laneOf = (claimed: ClaimedChunk) => lanes.get(claimed.chunk.prefix) ?? newLane();
    return {
      inFlight: (claimed) => (claimed.chunk.prefix === '' ? 0 : laneOf(claimed).inFlight),
      isCold: ({ chunk: { prefix } }) => prefix !== '' && !warm?.has(prefix),
      isFull: (claimed) => {
        if (claimed.chunk.prefix === '') return false;
        const { inFlight, unsent, perSlot } = laneOf(claimed);
        const most = Math.max(1, Math.ceil((inFlight + unsent) / perSlot));
        return this.#chunks.inFlight(model) >= slots || inFlight >= most;
      },
    };
  }

  /** How many more chunks should be claimed, so that every slot has a prefix of its own. */
  missingChunks(model: string): number {
    if (this.#capacity.prefixCache(model) !== 'slot') return 0;
    let lanes = 0;
    for (const claimed of this.#chunks.all) if (claimed.model === model && claimed.todo.length > 0) lanes++;
    return Math.max(0, Math.min(maxPrefixes, this.#capacity.slots(model)) - lanes);
  }

  sent(model: string, prefix: string): void {
    if (prefix === '' || this.#capacity.prefixCache(model) !== 'slot') return;
    const warm = this.#warm.get(model) ?? new Set();
    this.#warm.set(model, warm);
    warm.delete(prefix);
    warm.add(prefix);
    if (warm.size > this.#capacity.slots(model)) warm.delete(warm.values().next().value ?? '');
  }
}

interface PrefixLoad {
  inFlight: number;
  unsent: number;
  perSlot: number;
}

function newLane(): PrefixLoad {
  return { inFlight: 0, unsent: 0, perSlot: linesASlot.longPrompts };
}

function addTo(lanes: Map<string, PrefixLoad>, { chunk, inFlight, todo }: ClaimedChunk): void {
  if (chunk.prefix === '') return;
  const lane = lanes.get(chunk.prefix) ?? newLane();
  lanes.set(chunk.prefix, lane);
  lane.inFlight += inFlight;
  lane.unsent += todo.length;
  const promptTokens = chunk.lines.reduce((sum, line) => sum + line.length, 0) / bytesAToken;
  if (chunk.est > 2 * promptTokens) lane.perSlot = linesASlot.longAnswers;
}
