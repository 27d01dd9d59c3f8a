/** Decodes `tokens` that follow `previous`; invalid UTF-8 becomes U+FFFD. */
export type Detokenize = (tokens: readonly number[], previous: readonly number[]) => string;

/** Maximum tokens of a UTF-8 character, which has at most four bytes. */
const maxCharacterTokens = 4;
const rememberedTokens = 8;

export type TextDecoder = ReturnType<typeof createTextDecoder>;

/** Turns tokens into text, in whole characters. @param marks texts of tokens that have no text otherwise */
export function createTextDecoder(detokenize: Detokenize, marks: ReadonlyMap<number, string> = new Map()) {
  let previous: number[] = [];
  let held: number[] = [];

  function release(count: number, known?: string): string {
    const tokens = held.slice(0, count);
    const text = known ?? detokenize(tokens, previous);
    previous = [...previous, ...tokens].slice(-rememberedTokens);
    held = held.slice(count);
    return text;
  }

  return {
    /** Returns the text that `token` completes; empty inside a character. */
    push(token: number): string {
      held.push(token);
      const mark = marks.get(token);
      if (mark !== undefined) return release(held.length - 1) + release(1, mark);
      const text = detokenize(held, previous);
      if (!text.endsWith('\uFFFD')) return release(held.length, text);
      // Too long for a character: the first token does not start one.
      return held.length >= maxCharacterTokens ? release(1) : '';
    },
    /** Returns an unfinished character as replacement characters. */
    end: () => (held.length > 0 ? release(held.length) : ''),
    /** Number of tokens held back. */
    get held() {
      return held.length;
    },
  };
}
