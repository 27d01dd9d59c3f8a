/** Prompt tokens evaluated together. */
export const prefillChunk = 512;

/** Tokens of a batch: a chunk of a prompt, and one token of each answer. */
export function batchSize(sequences: number): number {
  return prefillChunk + sequences;
}

/** Batches after which the prompt of a line no longer gives way to interactive prompts. */
const maxPassed = 16;

export type BatchGate = ReturnType<typeof createBatchGate>;

/** Share of a batch for one evaluation. */
export interface BatchShare {
  tokens: number;
  /** Interactive prompts come first. */
  priority: 'interactive' | 'batch';
  signal: AbortSignal;
}

interface Waiting extends BatchShare {
  /** Batches that left it out. */
  passed: number;
  enter: () => void;
}

/**
 * Forms the batches. On its own, the library sends a batch as soon as one answer needs its next token, so that groups of
 * sequences alternate, although a batch of all sequences takes hardly longer. The gate opens when the last batch is done,
 * for all evaluations that wait: next tokens first, then prompts while there is room.
 * @param size tokens of a batch
 * @param onStep called after each completed evaluation
 */
export function createBatchGate(size: number, onStep: () => void = () => {}) {
  let waiting: Waiting[] = [];
  let inBatch = 0;
  let isOpening = false;

  function openWhenDone(): void {
    if (isOpening || inBatch > 0 || waiting.length === 0) return;
    isOpening = true;
    // By the next turn of the event loop, answers that just got a token ask for the next.
    setImmediate(open);
  }

  function open(): void {
    isOpening = false;
    let room = size;
    const taken = new Set<Waiting>();
    // The first always enters, so that none starves.
    for (const one of waiting.toSorted((a, b) => rank(a) - rank(b)))
      if (one.tokens <= room || taken.size === 0) {
        taken.add(one);
        room -= one.tokens;
      }
    waiting = waiting.filter((one) => !taken.has(one));
    for (const one of waiting) one.passed++;
    inBatch = taken.size;
    for (const { enter } of taken) enter();
  }

  return {
    /** Runs `run` as part of a later batch. Rejects with the reason of the signal if that aborts before. */
    async evaluate<T>(share: BatchShare, run: () => Promise<T>): Promise<T> {
      await new Promise<void>((enter) => {
        waiting.push({ ...share, passed: 0, enter });
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

/** An overdue prompt of a line ranks with the interactive ones, of which the oldest comes first. */
function rank({ tokens, priority, passed }: Waiting): number {
  if (tokens === 1) return 0;
  return priority === 'interactive' || passed >= maxPassed ? 1 : 2;
}
