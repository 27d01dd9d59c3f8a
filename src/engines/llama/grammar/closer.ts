import type { MatchState, Matcher } from './matcher.ts';

export type Closer = ReturnType<typeof createCloser>;

/** Tokens of a text. It may err upwards, never downwards. */
export type Measure = (text: string) => number;

/** Longer tokens than this many bytes are not worth asking the tokenizer about. */
const bytesPerToken = 32;

/**
 * Keeps a generated text completable within its token limit. The invariant: the shortest completion of what was
 * accepted so far fits into the tokens that are left. A token that would break it is refused, and the completion is
 * appended instead.
 */
export function createCloser(matcher: Matcher, measure: Measure) {
  let state = matcher.start;
  return {
    /** Takes the next piece of text, of which the limit then has `left` tokens. False: refused, close now. */
    accept(text: string, left: number): boolean {
      const next = matcher.advance(state, text);
      if (!next || !isClosable(matcher, next, measure, left)) return false;
      state = next;
      return true;
    },
    /** The text may end here. */
    get isComplete(): boolean {
      return state.complete;
    },
    /** The text must end here. */
    get isExhausted(): boolean {
      return state.complete && state.stacks.length === 0;
    },
    /** The shortest ending; empty where the text may end here. */
    closing(): { text: string; tokens: number } {
      const text = state.complete ? '' : matcher.closing(state);
      return { text, tokens: text === '' ? 0 : measure(text) };
    },
    /** Goes back to the state after `text`, which is a start of what was accepted. */
    rewind(text: string): void {
      state = matcher.advance(matcher.start, text) ?? state;
    },
  };
}

/** Tokens of the shortest text the grammar allows, at most. */
export function shortestTokens(matcher: Matcher, measure: Measure): number {
  const bytes = matcher.closingBytes(matcher.start);
  return bytes > 1_000_000 ? bytes : Math.min(bytes, measure(matcher.closing(matcher.start)));
}

function isClosable(matcher: Matcher, state: MatchState, measure: Measure, left: number): boolean {
  const bytes = matcher.closingBytes(state);
  // No byte needs more than one token, so most states need not be spelled out and tokenized.
  if (bytes <= left) return true;
  if (bytes > left * bytesPerToken) return false;
  return measure(matcher.closing(state)) <= left;
}
