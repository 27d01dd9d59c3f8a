import type { MatchState, Matcher } from './matcher.ts';

export type Closer = ReturnType<typeof createCloser>;

/** Counts the tokens of a text; may overestimate, never underestimate. */
export type Measure = (text: string) => number;

/** Bytes per token above which tokenizing the text is not worth it. */
const bytesPerToken = 32;

/**
 * Keeps a generated text completable within its token limit. Invariant: the shortest completion of the accepted text fits
 * into the remaining tokens. A token that would break it is rejected, and the completion is appended instead.
 */
export function createCloser(matcher: Matcher, measure: Measure) {
  let state = matcher.start;
  return {
    /** Accepts the next piece of text if a completion fits into `left` tokens. After false, close the text. */
    accept(text: string, left: number): boolean {
      const next = matcher.advance(state, text);
      if (!next || !isClosable(matcher, next, measure, left)) return false;
      state = next;
      return true;
    },
    /** True where the text may end. */
    get isComplete(): boolean {
      return state.complete;
    },
    /** True where the text must end. */
    get isExhausted(): boolean {
      return state.complete && state.stacks.length === 0;
    },
    /** Shortest completion; empty where the text may end. */
    closing(): { text: string; tokens: number } {
      const text = state.complete ? '' : matcher.closing(state);
      return { text, tokens: text === '' ? 0 : measure(text) };
    },
    /** Returns to the state after `text`, a prefix of the accepted text. */
    rewind(text: string): void {
      state = matcher.advance(matcher.start, text) ?? state;
    },
  };
}

/** Upper bound for the tokens of the shortest text of the grammar. */
export function shortestTokens(matcher: Matcher, measure: Measure): number {
  const bytes = matcher.closingBytes(matcher.start);
  return bytes > 1_000_000 ? bytes : Math.min(bytes, measure(matcher.closing(matcher.start)));
}

function isClosable(matcher: Matcher, state: MatchState, measure: Measure, left: number): boolean {
  const bytes = matcher.closingBytes(state);
  // A byte needs at most one token, so most states need no tokenizing.
  if (bytes <= left) return true;
  if (bytes > left * bytesPerToken) return false;
  return measure(matcher.closing(state)) <= left;
}
