import type { BlobWriter } from './blobs.ts';

/** What each kind of storage does for a writer. */
interface WriterSteps {
  held: () => number;
  write: (chunk: Uint8Array) => Promise<void>;
  commit: () => Promise<void>;
  /** Clears away whatever there is. */
  discard: () => Promise<void>;
}

/** A writer that is committed or discarded once: a fault leaves nothing behind, whether or not the caller aborts. */
export function createWriter({ held, write, commit, discard }: WriterSteps): BlobWriter {
  let isOpen = true;

  async function orDiscard(work: () => Promise<void>): Promise<void> {
    if (!isOpen) throw new Error('The blob was committed, aborted or failed already.');
    try {
      await work();
    } catch (error) {
      isOpen = false;
      await discard();
      throw error;
    }
  }

  return {
    get bufferedBytes() {
      return held();
    },
    write: (chunk) => orDiscard(() => write(chunk)),
    commit: () =>
      orDiscard(async () => {
        await commit();
        isOpen = false;
      }),
    async abort() {
      if (!isOpen) return;
      isOpen = false;
      await discard();
    },
  };
}
