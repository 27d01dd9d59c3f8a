/** Prompt tokens that are evaluated at once. */
export const prefillChunk = 512;

/** Tokens of a batch: it has room for a piece of a prompt beside a token of each answer. */
export function batchSize(sequences: number): number {
  return prefillChunk + sequences;
}

export type BatchGate = ReturnType<typeof createBatchGate>;

/** What an evaluation takes of a batch. */
export interface BatchShare {
  tokens: number;
  /** Prompts of interactive requests come before those of batches. */
  priority: 'interactive' | 'batch';
  /** Whoever is gone when the gate opens takes nothing. */
  signal: AbortSignal;
}

interface Waiting extends BatchShare {
  enter: () => void;
}

/**
 * Decides who goes with the next batch. Left alone, the library sends a batch as soon as one answer asks for its next
 * token, and whoever asks a moment later goes with another: groups form that take turns, although a batch with all
 * sequences takes hardly longer than one with a few. The gate opens when everyone in the last batch has its result,
 * for all who wait: next tokens first, then as much of the prompts as the batch has room for.
 * @param size how many tokens a batch holds
 * @param onStep called after each evaluation that came to its end
 */
export function createBatchGate(size: number, onStep: () => void = () => {}) {
  let waiting: Waiting[] = [];
  let inBatch = 0;
  let isOpening = false;

  function openWhenDone(): void {
    if (isOpening || inBatch > 0 || waiting.length === 0) return;
    isOpening = true;
    // Until the next turn of the event loop, whoever has just got a token asks for another.
    setImmediate(open);
  }

  function open(): void {
    isOpening = false;
    let room = size;
    const taken = new Set<Waiting>();
    // The first always gets in, so that nobody waits for ever.
    for (const one of waiting.toSorted((a, b) => rank(a) - rank(b)))
      if (one.tokens <= room || taken.size === 0) {
        taken.add(one);
        room -= one.tokens;
      }
    waiting = waiting.filter((one) => !taken.has(one));
    inBatch = taken.size;
    for (const { enter } of taken) enter();
  }

  return {
    /** Runs `run` with a batch to come. Rejects with the signal's reason when it aborts before. */
    async evaluate<T>(share: BatchShare, run: () => Promise<T>): Promise<T> {
      await new Promise<void>((enter) => {
        waiting.push({ ...share, enter });
        openWhenDone();
      });
      try {
        share.signal.throwIfAborted();
        const result = await run();
        onStep();
        return result;
      } finally {
        inBatch--;
        openWhenDone();
      }
    },
  };
}

function rank({ tokens, priority }: BatchShare): number {
  if (tokens === 1) return 0;
  return priority === 'interactive' ? 1 : 2;
}
