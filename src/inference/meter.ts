import { noUsage, type Usage } from '../core/usage.ts';
import { tokensOfBytes } from '../wire/chat/request/estimate-prompt.ts';

/** What a stream has brought so far. */
export class Meter {
  /** Tokens of the prompt, where they are told before the end. */
  promptTokens: number | undefined;
  /** Null before anything of the answer came: then nobody knows that the prompt was read. */
  #bytes: number | null = null;
  #usage: Usage | null = null;
  #done: () => void;

  /** @param done called when the engine is done: how long the client reads is its own affair */
  constructor(done: () => void) {
    this.#done = done;
  }

  /** What the client is given of the answer; a piece without text says that it has begun. */
  said(text: string): void {
    this.#bytes = (this.#bytes ?? 0) + Buffer.byteLength(text);
  }

  /** What the whole answer took; what is told first counts. */
  told(usage: Usage): void {
    this.#usage ??= usage;
    this.#done();
  }

  /** What it took by now: where nobody told, the prompt, and a token for four bytes of what was said. */
  async spent(countPrompt: () => Promise<number>): Promise<Usage> {
    if (this.#usage) return this.#usage;
    if (this.#bytes === null) return noUsage;
    const inputTokens = this.promptTokens ?? (await countPrompt());
    return { ...noUsage, inputTokens, outputTokens: tokensOfBytes(this.#bytes) };
  }
}

export interface Metered<List, Told> {
  lists: AsyncIterable<List>;
  /** Counts a list, and makes of it what the client is told. */
  read: (list: List) => Told;
  /** The engine is done with it, or was left. */
  leave: () => void;
  /** The first list is there. */
  begun: () => void;
  /** Charges what it took. */
  settle: () => Promise<void>;
}

/**
 * A stream that is paid when it ends, or its client leaves it. One that was broken off on our side, or its engine's, is no
 * answer, and costs nothing.
 * @param signal of the client: it aborts when that leaves
 */
export async function* metered<List, Told>(
  open: () => Promise<Metered<List, Told>>,
  signal: AbortSignal,
): AsyncGenerator<Told> {
  const { lists, read, leave, begun, settle } = await open();
  let isBegun = false;
  let isBroken = false;
  try {
    for await (const list of lists) {
      if (!isBegun) begun();
      isBegun = true;
      yield read(list);
    }
  } catch (error) {
    isBroken = !signal.aborted;
    throw error;
  } finally {
    leave();
    if (!isBroken) await settle();
  }
}
