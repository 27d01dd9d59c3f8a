import type { TokenLogprob } from '../chat/chat.ts';
import type { CompletionLogprobs } from './completions.ts';

/** Token of an answer or a prompt; the first token of a prompt has no probability. */
export interface ScoredToken {
  token: string;
  logprob: number | null;
  top_logprobs: Pick<TokenLogprob, 'token' | 'logprob'>[];
  /** Text that the token adds, if not the token itself: empty for one that ends the answer. */
  text?: string;
}

/** Returns a function that converts the tokens of successive pieces of one choice to the completions format. */
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

/** Log probabilities by text; the highest of tokens with the same text. */
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
