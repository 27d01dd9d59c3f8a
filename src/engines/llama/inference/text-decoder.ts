/** Turns tokens into text, holding back the bytes of a character that is not complete yet. */
export interface TextDecoder {
  /** The text that became certain with `token`; empty inside a character. */
  push(token: number): string;
  /** What is left of an unfinished character, as replacement characters. */
  end(): string;
  /** Tokens held back. */
  readonly held: number;
}

/** Decodes `tokens` as they stand behind `previous`, replacing invalid UTF-8 by U+FFFD. */
export type Detokenize = (tokens: readonly number[], previous: readonly number[]) => string;

/** A UTF-8 character has at most four bytes, and a token at least one. */
const longestCharacter = 4;
const rememberedTokens = 8;

export function createTextDecoder(detokenize: Detokenize): TextDecoder {
  let previous: number[] = [];
  let held: number[] = [];

  function release(count: number): string {
    const tokens = held.slice(0, count);
    const text = detokenize(tokens, previous);
    previous = [...previous, ...tokens].slice(-rememberedTokens);
    held = held.slice(count);
    return text;
  }

  return {
    push(token) {
      held.push(token);
      const isUnfinished = detokenize(held, previous).endsWith('\uFFFD');
      if (!isUnfinished) return release(held.length);
      // Longer than any character: the first token was not the start of one.
      return held.length >= longestCharacter ? release(1) : '';
    },
    end: () => (held.length > 0 ? release(held.length) : ''),
    get held() {
      return held.length;
    },
  };
}
