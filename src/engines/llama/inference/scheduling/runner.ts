import type { LlamaContextSequence } from 'node-llama-cpp';
import { createFairGate } from '../../../../base/fair-gate.ts';
import type { BatchGate } from './batch-gate.ts';
import { type SlotView, chooseSlot } from './slots.ts';

/** A sequence of the context, which generates one answer at a time. */
interface Slot extends SlotView {
  readonly sequence: LlamaContextSequence;
  isBusy: boolean;
}

export interface SlotRequest {
  prompt: readonly number[];
  prefix: string;
  priority: 'interactive' | 'batch';
  signal: AbortSignal;
}

/** A sequence, leased to one request. */
export interface SequenceLease {
  readonly sequence: LlamaContextSequence;
  readonly signal: AbortSignal;
  /** Evaluates tokens as part of a later batch. Rejects with the reason of the signal if that aborts before. */
  evaluate: <T>(tokens: number, evaluate: () => Promise<T>) => Promise<T>;
}

export type Runner = ReturnType<typeof createRunner>;

/** Leases the sequences, to interactive requests first. A request gets the slot that has most of its prompt cached. */
export function createRunner(sequences: readonly LlamaContextSequence[], batches: BatchGate) {
  const slots = sequences.map((sequence): Slot => ({
    sequence,
    tokens: [],
    prefix: '',
    lastUsed: 0,
    isBusy: false,
  }));
  const capacity = slots.length;
  const gate = createFairGate({ capacity, maxPerOwner: capacity, priorityOwner: 'interactive' });
  let uses = 0;

  return {
    /** Runs `work` in the next free slot. Rejects with the reason of the signal if that aborts before. */
    run<T>(
      { prompt, prefix, priority, signal }: SlotRequest,
      work: (lease: SequenceLease) => Promise<T>,
    ): Promise<T> {
      const evaluate: SequenceLease['evaluate'] = (tokens, step) =>
        batches.evaluate({ tokens, priority, signal }, step);
      return gate.within(priority, 1, signal, async () => {
        const free = slots.filter((slot) => !slot.isBusy);
        const slot = chooseSlot(free, prompt, prefix);
        Object.assign(slot, { isBusy: true, lastUsed: ++uses, prefix });
        try {
          return await work({ sequence: slot.sequence, signal, evaluate });
        } finally {
          slot.tokens = slot.sequence.contextTokens;
          slot.isBusy = false;
        }
      });
    },
  };
}
