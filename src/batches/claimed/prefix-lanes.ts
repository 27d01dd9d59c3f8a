import type { Inference } from '../../inference/inference.ts';
import type { HeldChunk, HeldChunks } from './held-chunks.ts';

/** Chunks in hand at the same time on account of lanes alone; each has up to 64 lines. */
const mostLanes = 32;

/**
 * A prefix gets a further slot for so many of its lines: the prompt is read once more there. Where answers are longer
 * than prompts, waiting costs more than reading, and a slot is worth it sooner.
 */
const linesASlot = { longPrompts: 16, longAnswers: 4 } as const;
const bytesAToken = 4;

/** What the slots of an engine are at, for choosing its next line. */
export interface LanesNow {
  /** Lines in flight that share this chunk's prefix. */
  inFlight(held: HeldChunk): number;
  /** Whether the prefix is in none of the slots, as far as one can tell. */
  isCold(held: HeldChunk): boolean;
  /** Whether one more line would only push another prefix out of its slot. */
  isFull(held: HeldChunk): boolean;
}

/**
 * Lanes (batch-engine.md, "Running"): where each slot of an engine keeps a prefix cache of its own, a prefix stays with one slot
 * and one line of it is in flight at a time, for as long as there are as many prefixes as slots.
 */
export class PrefixLanes {
  #generate: Pick<Inference, 'prefixCache' | 'slots'>;
  #held: HeldChunks;
  /** By model, the prefixes sent last, as many as there are slots; the latest at the end. */
  #warm = new Map<string, Set<string>>();

  constructor(generate: Pick<Inference, 'prefixCache' | 'slots'>, held: HeldChunks) {
    this.#generate = generate;
    this.#held = held;
  }

  /** Null for models without lanes. */
  now(model: string): LanesNow | null {
    if (this.#generate.prefixCache(model) !== 'slot') return null;
    const lanes = new Map<string, Lane>();
    for (const held of this.#held.chunks) if (held.model === model) addTo(lanes, held);
    const slots = this.#generate.slots(model);
    const warm = this.#warm.get(model);
    const laneOf = (held: HeldChunk) => lanes.get(held.chunk.prefix) ?? newLane();
    return {
      inFlight: (held) => (held.chunk.prefix === '' ? 0 : laneOf(held).inFlight),
      isCold: ({ chunk: { prefix } }) => prefix !== '' && !warm?.has(prefix),
      isFull: (held) => {
        if (held.chunk.prefix === '') return false;
        const { inFlight, unsent, perSlot } = laneOf(held);
        const most = Math.max(1, Math.ceil((inFlight + unsent) / perSlot));
        return this.#held.inFlight(model) >= slots || inFlight >= most;
      },
    };
  }

  /** How many more chunks should be claimed, so that every slot has a prefix of its own. */
  lacking(model: string): number {
    if (this.#generate.prefixCache(model) !== 'slot') return 0;
    let lanes = 0;
    for (const held of this.#held.chunks) if (held.model === model && held.todo.length > 0) lanes++;
    return Math.max(0, Math.min(mostLanes, this.#generate.slots(model)) - lanes);
  }

  sent(model: string, prefix: string): void {
    if (prefix === '' || this.#generate.prefixCache(model) !== 'slot') return;
    const warm = this.#warm.get(model) ?? new Set();
    this.#warm.set(model, warm);
    warm.delete(prefix);
    warm.add(prefix);
    if (warm.size > this.#generate.slots(model)) warm.delete(warm.values().next().value ?? '');
  }
}

interface Lane {
  inFlight: number;
  unsent: number;
  perSlot: number;
}

function newLane(): Lane {
  return { inFlight: 0, unsent: 0, perSlot: linesASlot.longPrompts };
}

function addTo(lanes: Map<string, Lane>, { chunk, inFlight, todo }: HeldChunk): void {
  if (chunk.prefix === '') return;
  const lane = lanes.get(chunk.prefix) ?? newLane();
  lanes.set(chunk.prefix, lane);
  lane.inFlight += inFlight;
  lane.unsent += todo.length;
  const promptTokens = chunk.lines.reduce((sum, line) => sum + line.length, 0) / bytesAToken;
  if (chunk.est > 2 * promptTokens) lane.perSlot = linesASlot.longAnswers;
}
