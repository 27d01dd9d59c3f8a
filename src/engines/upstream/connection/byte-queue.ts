/** A reader that is this many bytes behind makes the socket wait. */
const mostUnread = 256 * 1024;

/** Chunks between a socket that pushes and a loop that pulls. */
export function createByteQueue() {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let refused = false;
  let ended = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;

  const change = () => {
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
    /** False when the reader is far behind. */
    push(chunk: Buffer): boolean {
      chunks.push(chunk);
      bytes += chunk.length;
      refused = bytes > mostUnread;
      change();
      return !refused;
    },
    end() {
      ended = true;
      change();
    },
    fail(error: unknown) {
      failure = { error };
      change();
    },
    /**
     * What has come, once: whatever waits is given together, however the server cut it up.
     * @param resume called when the reader has caught up after a `push` that said false
     * @param leave called when the reader stops before the end
     */
    async *read(resume: () => void, leave: () => void): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          if (chunks.length > 0) {
            const waiting = takeAll();
            const wasRefused = refused;
            refused = false;
            if (wasRefused) resume();
            yield waiting;
          } else if (failure) throw failure.error;
          else if (ended) return;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        if (!ended && !failure) leave();
      }
    },
  };
}
