import type { ChoiceLogprobs, TokenLogprob } from '../../../wire/chat/chat.ts';
import { fieldsOf, isObject } from '../../../base/fields.ts';
import { type Repairs, unicode } from '../connection/repairs.ts';

/**
 * Log probabilities with every key that clients insist on, or null where there are none. What is no token is left out.
 * @param most alternatives of a token that were asked for; llama-server gives 20 where none were
 */
export function readLogprobs(given: unknown, repairs: Repairs, most: number): ChoiceLogprobs | null {
  if (!isObject(given)) return null;
  const { content } = given;
  return { content: Array.isArray(content) ? readTokens(content, repairs, most) : null, refusal: null };
}

function readTokens(given: readonly unknown[], repairs: Repairs, most: number): TokenLogprob[] {
  return given.flatMap((each) => {
    const { top_logprobs: top } = fieldsOf(each);
    return readToken(each, repairs).map((token) => ({
      ...token,
      top_logprobs: Array.isArray(top)
        ? top.slice(0, most).flatMap((other) => readToken(other, repairs))
        : [],
    }));
  });
}

function readToken(given: unknown, repairs: Repairs): Omit<TokenLogprob, 'top_logprobs'>[] {
  const { token, logprob, bytes } = fieldsOf(given);
  if (typeof token !== 'string' || typeof logprob !== 'number') return [];
  return [{ token: unicode(token, repairs), logprob, bytes: isBytes(bytes) ? bytes : null }];
}

function isBytes(given: unknown): given is number[] {
  return Array.isArray(given) && given.every((each) => Number.isInteger(each));
}
