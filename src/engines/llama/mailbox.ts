/** Items put in by one side and iterated by another, in order, until it is closed or fails. */
export interface Mailbox<T> extends AsyncIterable<T> {
  put(item: T): void;
  close(): void;
  /** What is already in it is still delivered. */
  fail(error: unknown): void;
}

export function createMailbox<T>(): Mailbox<T> {
  const items: T[] = [];
  let end: { error?: unknown; isFailed: boolean } | undefined;
  let wake: (() => void) | undefined;

  function changed(): void {
    wake?.();
    wake = undefined;
  }

  return {
    put(item) {
      items.push(item);
      changed();
    },
    close() {
      end ??= { isFailed: false };
      changed();
    },
    fail(error) {
      end ??= { error, isFailed: true };
      changed();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (items.length > 0) yield items.shift()!;
        if (end?.isFailed) throw end.error;
        if (end) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
