import { noUsage, type Usage } from '../core/usage.ts';
import { tokensOfBytes } from '../wire/chat/request/estimate-prompt.ts';

/** Counts the text and usage of one stream. */
export class StreamMeter {
  /** Tokens of the prompt, where the engine reports them before the end. */
  promptTokens: number | undefined;
  /** Null until the answer begins: the engine may not have read the prompt yet. */
  #bytes: number | null = null;
  #usage: Usage | null = null;
  #onDone: () => void;

  /** @param onDone called when the engine is done; the client may read for longer */
  constructor(onDone: () => void) {
    this.#onDone = onDone;
  }

  /** Adds text of the answer. An empty piece still shows that the answer has begun. */
  addText(text: string): void {
    this.#bytes = (this.#bytes ?? 0) + Buffer.byteLength(text);
  }

  /** Sets the usage of the whole answer; the first call counts. */
  setUsage(usage: Usage): void {
    this.#usage ??= usage;
    this.#onDone();
  }

  /** Usage so far. If the engine reported none: the prompt, and bytes / 4 of the answer. */
  async usage(countPrompt: () => Promise<number>): Promise<Usage> {
    if (this.#usage) return this.#usage;
    if (this.#bytes === null) return noUsage;
    const inputTokens = this.promptTokens ?? (await countPrompt());
    return { ...noUsage, inputTokens, outputTokens: tokensOfBytes(this.#bytes) };
  }
}

export interface MeteredSource<List, Presented> {
  lists: AsyncIterable<List>;
  /** Counts a list, and turns it into the client's form. */
  read: (list: List) => Presented;
  /** The engine is done, or the client has left. */
  leave: () => void;
  /** Called before the first list is read. */
  onFirst: () => void;
  /** Charges the usage. */
  settle: () => Promise<void>;
  /** Ends the reservation of a stream that was not charged. */
  release: () => void;
}

/**
 * A stream that is charged when it ends or its client leaves. A stream that our side or the engine breaks off is free.
 * @param signal aborts when the client leaves
 */
export async function* meterStream<List, Presented>(
  open: () => Promise<MeteredSource<List, Presented>>,
  signal: AbortSignal,
): AsyncGenerator<Presented> {
  const { lists, read, leave, onFirst, settle, release } = await open();
  let hasBegun = false;
  let isBroken = false;
  try {
    for await (const list of lists) {
      if (!hasBegun) onFirst();
      hasBegun = true;
      yield read(list);
    }
  } catch (error) {
    isBroken = !signal.aborted;
    throw error;
  } finally {
    leave();
    try {
      if (!isBroken) await settle();
    } finally {
      release();
    }
  }
}
