import type { TokenLogprob } from '../chat/chat.ts';
import type { CompletionLogprobs } from './completions.ts';

/** A token of an answer, or of a prompt whose first token has no probability. */
export interface ScoredToken {
  token: string;
  logprob: number | null;
  top_logprobs: Pick<TokenLogprob, 'token' | 'logprob'>[];
  /** What it adds to the text, where that is not itself: nothing for one that ends the answer. */
  text?: string;
}

/** Puts the tokens of one choice, or of its pieces one after the other, in the form of completions. */
export function logprobsWriter(): (tokens: readonly ScoredToken[]) => CompletionLogprobs {
  let offset = 0;
  return (tokens) => {
    const written: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const { token, logprob, top_logprobs: top, text = token } of tokens) {
      written.tokens.push(token);
      written.token_logprobs.push(logprob);
      written.top_logprobs.push(logprob === null ? null : alternatives(token, logprob, top));
      written.text_offset.push(offset);
      offset += Array.from(text).length;
    }
    return written;
  };
}

/** By their texts: of tokens that look alike, the likeliest. */
function alternatives(
  token: string,
  logprob: number,
  top: ScoredToken['top_logprobs'],
): Record<string, number> {
  const found = new Map<string, number>();
  for (const each of [...top, { token, logprob }])
    found.set(each.token, Math.max(found.get(each.token) ?? Number.NEGATIVE_INFINITY, each.logprob));
  return Object.fromEntries(found);
}
