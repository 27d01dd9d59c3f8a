import type { BlobWriter } from './blobs.ts';

/** Operations of a writer for one kind of storage. */
interface WriterSteps {
  bufferedBytes: () => number;
  write: (chunk: Uint8Array) => Promise<void>;
  commit: () => Promise<void>;
  /** Removes everything written so far. */
  discard: () => Promise<void>;
}

/** Writer that is committed or discarded once. An error discards the blob even if the caller does not abort. */
export function createWriter({ bufferedBytes: held, write, commit, discard }: WriterSteps): BlobWriter {
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
