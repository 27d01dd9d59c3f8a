import type { Capacity } from '../../inference/capacity.ts';
import { type ClaimedChunk, type ClaimedChunks, inFlightOf } from './claimed-chunks.ts';

/** Maximum chunks, of up to 64 lines each, that are claimed only to give each slot a prefix of its own. */
const maxPrefixes = 32;

/**
 * Lines of a prefix that justify one more slot, where the prompt is read again. Where answers are longer than prompts, waiting
 * costs more than reading, and fewer lines suffice.
 */
const linesPerSlot = { longPrompts: 16, longAnswers: 4 } as const;
const bytesPerToken = 4;

/** Prefixes in the slots of an engine, to choose its next line. */
export interface SlotPrefixes {
  /** Number of lines in flight that share the chunk's prefix. */
  inFlight(claimed: ClaimedChunk): number;
  /** True if the prefix is probably in no slot. */
  isCold(claimed: ClaimedChunk): boolean;
  /** True if one more line would only evict another prefix from its slot. */
  isFull(claimed: ClaimedChunk): boolean;
}

/**
 * Cache affinity for engines with one prompt cache per slot (batch-engine.md, "Running"): a prefix stays in one slot, with one
 * line in flight at a time, while there are as many prefixes as slots.
 */
export class PrefixAffinity {
  #capacity: Pick<Capacity, 'prefixCache' | 'slots'>;
  #chunks: ClaimedChunks;
  /** Last prefixes sent by model, one per slot, the latest at the end. */
  #warm = new Map<string, Set<string>>();

  constructor(capacity: Pick<Capacity, 'prefixCache' | 'slots'>, chunks: ClaimedChunks) {
    this.#capacity = capacity;
    this.#chunks = chunks;
  }

  /** Null for models whose engine does not cache per slot. */
  snapshot(model: string): SlotPrefixes | null {
    if (this.#capacity.prefixCache(model) !== 'slot') return null;
    const loads = new Map<string, PrefixLoad>();
    for (const claimed of this.#chunks.all) if (claimed.model === model) addTo(loads, claimed);
    const slots = this.#capacity.slots(model);
    const warm = this.#warm.get(model);
    const loadOf = (claimed: ClaimedChunk) => loads.get(claimed.chunk.prefix) ?? noLoad;
    return {
      inFlight: (claimed) => (claimed.chunk.prefix === '' ? 0 : loadOf(claimed).inFlight),
      isCold: ({ chunk: { prefix } }) => prefix !== '' && !warm?.has(prefix),
      isFull: (claimed) => {
        if (claimed.chunk.prefix === '') return false;
        const { inFlight, unsent, perSlot } = loadOf(claimed);
        const max = Math.max(1, Math.ceil((inFlight + unsent) / perSlot));
        return this.#chunks.inFlight(model) >= slots || inFlight >= max;
      },
    };
  }

  /** Number of chunks to claim so that every slot has a prefix of its own. */
  missingChunks(model: string): number {
    if (this.#capacity.prefixCache(model) !== 'slot') return 0;
    let unsent = 0;
    for (const claimed of this.#chunks.all) if (claimed.model === model && claimed.queue.length > 0) unsent++;
    return Math.max(0, Math.min(maxPrefixes, this.#capacity.slots(model)) - unsent);
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

const noLoad: Readonly<PrefixLoad> = { inFlight: 0, unsent: 0, perSlot: linesPerSlot.longPrompts };

function addTo(loads: Map<string, PrefixLoad>, claimed: ClaimedChunk): void {
  const { chunk, queue } = claimed;
  if (chunk.prefix === '') return;
  const load = loads.get(chunk.prefix) ?? { ...noLoad };
  loads.set(chunk.prefix, load);
  load.inFlight += inFlightOf(claimed);
  load.unsent += queue.length;
  const promptTokens = chunk.lines.reduce((sum, line) => sum + line.length, 0) / bytesPerToken;
  if (chunk.est > 2 * promptTokens) load.perSlot = linesPerSlot.longAnswers;
}
