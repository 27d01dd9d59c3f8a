/** Decodes `tokens` as they stand behind `previous`, replacing invalid UTF-8 by U+FFFD. */
export type Detokenize = (tokens: readonly number[], previous: readonly number[]) => string;

/** A UTF-8 character has at most four bytes, and a token at least one. */
const longestCharacter = 4;
const rememberedTokens = 8;

export type TextDecoder = ReturnType<typeof createTextDecoder>;

/**
 * Turns tokens into text, holding back the bytes of a character that is not complete yet.
 * @param marks texts of tokens that have none otherwise
 */
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
    /** The text that became certain with `token`; empty inside a character. */
    push(token: number): string {
      held.push(token);
      const mark = marks.get(token);
      if (mark !== undefined) return release(held.length - 1) + release(1, mark);
      const text = detokenize(held, previous);
      if (!text.endsWith('\uFFFD')) return release(held.length, text);
      // Longer than any character: the first token was not the start of one.
      return held.length >= longestCharacter ? release(1) : '';
    },
    /** What is left of an unfinished character, as replacement characters. */
    end: () => (held.length > 0 ? release(held.length) : ''),
    /** Tokens held back. */
    get held() {
      return held.length;
    },
  };
}
