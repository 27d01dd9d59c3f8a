/** A reader that is this many bytes behind makes the socket wait. */
const mostUnread = 256 * 1024;

/** Chunks between a socket that pushes and a loop that pulls. */
export interface Unread {
  /** False when the reader is far behind. */
  push: (chunk: Buffer) => boolean;
  end: () => void;
  fail: (error: unknown) => void;
  /**
   * The chunks, once.
   * @param resume called when the reader has caught up after a `push` that said false
   * @param leave called when the reader stops before the end
   */
  read: (resume: () => void, leave: () => void) => AsyncGenerator<Buffer>;
}

export function createUnread(): Unread {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let refused = false;
  let ended = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;

  const change = () => {
    wake?.();
    wake = undefined;
  };

  return {
    push(chunk) {
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
    fail(error) {
      failure = { error };
      change();
    },
    async *read(resume, leave) {
      try {
        for (;;) {
          const chunk = chunks.shift();
          if (chunk) {
            bytes -= chunk.length;
            if (refused && bytes < mostUnread / 2) {
              refused = false;
              resume();
            }
            yield chunk;
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
