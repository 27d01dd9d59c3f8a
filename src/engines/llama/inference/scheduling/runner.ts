import type { LlamaContextSequence } from 'node-llama-cpp';
import { onAbort } from '../../../../base/on-abort.ts';
import type { BatchGate } from './batch-gate.ts';
import { type SlotView, chooseSlot } from './slots.ts';

/** One sequence of the context, which works on one answer at a time. */
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

/** A sequence while it works for one request. */
export interface Lane {
  readonly sequence: LlamaContextSequence;
  readonly signal: AbortSignal;
  /** Evaluates so many tokens with a batch to come. Rejects with the signal's reason when it aborts before. */
  pass: <T>(tokens: number, evaluate: () => Promise<T>) => Promise<T>;
}

export type Runner = ReturnType<typeof createRunner>;

/** Hands out the sequences: interactive requests first, each to the slot that already holds most of its prompt. */
export function createRunner(sequences: readonly LlamaContextSequence[], gate: BatchGate) {
  const slots = sequences.map((sequence): Slot => ({
    sequence,
    tokens: [],
    prefix: '',
    lastUsed: 0,
    isBusy: false,
  }));
  const queue: { request: SlotRequest; begin: (slot: Slot) => void }[] = [];
  let uses = 0;

  function pump(): void {
    for (;;) {
      const free = slots.filter((slot) => !slot.isBusy);
      if (free.length === 0 || queue.length === 0) return;
      const urgent = queue.findIndex(({ request }) => request.priority === 'interactive');
      const [next] = queue.splice(Math.max(0, urgent), 1);
      const slot = chooseSlot(free, next!.request.prompt, next!.request.prefix);
      slot.isBusy = true;
      slot.lastUsed = ++uses;
      slot.prefix = next!.request.prefix;
      next!.begin(slot);
    }
  }

  async function acquire(request: SlotRequest): Promise<Slot> {
    const { signal } = request;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const entry = { request, begin: resolve };
    const giveUp = (): void => {
      const at = queue.indexOf(entry);
      if (at === -1) return;
      queue.splice(at, 1);
      reject(signal.reason as Error);
    };
    queue.push(entry);
    pump();
    return promise.finally(onAbort(signal, giveUp));
  }

  return {
    /** Runs `work` in a slot as soon as one is free. Rejects with the signal's reason when it aborts in the queue. */
    async run<T>(request: SlotRequest, work: (lane: Lane) => Promise<T>): Promise<T> {
      const slot = await acquire(request);
      const { priority, signal } = request;
      const pass: Lane['pass'] = (tokens, evaluate) => gate.pass({ tokens, priority, signal }, evaluate);
      try {
        return await work({ sequence: slot.sequence, signal, pass });
      } finally {
        // Whatever happened, the library knows which tokens are in the sequence.
        slot.tokens = slot.sequence.contextTokens;
        slot.isBusy = false;
        pump();
      }
    },
  };
}
