/** Unread bytes at which the socket is paused (backpressure). */
const maxUnread = 256 * 1024;

/** Queue of chunks between a socket that pushes and a loop that pulls. */
export function createByteQueue() {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let isPaused = false;
  let hasEnded = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;

  const notify = () => {
    wake?.();
    wake = undefined;
  };

  function takeAll(): Buffer {
    const [first] = chunks;
    const all = first && chunks.length === 1 ? first : Buffer.concat(chunks, bytes);
    chunks = [];
    bytes = 0;
    return all;
  }

  return {
    /** @returns false where the sender should pause */
    push(chunk: Buffer): boolean {
      chunks.push(chunk);
      bytes += chunk.length;
      isPaused = bytes > maxUnread;
      notify();
      return !isPaused;
    },
    end() {
      hasEnded = true;
      notify();
    },
    fail(error: unknown) {
      failure = { error };
      notify();
    },
    /** Reads the bytes once, queued ones together. @param resume called after a pause @param leave called at an early end */
    async *read(resume: () => void, leave: () => void): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          if (chunks.length > 0) {
            const all = takeAll();
            const wasPaused = isPaused;
            isPaused = false;
            if (wasPaused) resume();
            yield all;
          } else if (failure) throw failure.error;
          else if (hasEnded) return;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        if (!hasEnded && !failure) leave();
      }
    },
  };
}
