import { fieldsOf, isObject } from '../../../base/fields.ts';
import { ApiError, permanent } from '../../../core/errors.ts';
import type { ChatChunks, ChatResponse, ChoiceLogprobs, TokenLogprob } from '../../../wire/chat/chat.ts';
import { addToChoice } from '../../../wire/chat/stream/fold-chunks.ts';
import { type Repairs, unicode } from '../connection/repairs.ts';

/**
 * Log probabilities with every key that clients require; null if there are none. Invalid tokens are dropped.
 * @param alternatives requested alternatives of a token; llama-server sends 20 where none were requested
 */
export function readLogprobs(value: unknown, repairs: Repairs, alternatives: number): ChoiceLogprobs | null {
  if (!isObject(value)) return null;
  const { content } = value;
  const tokens = Array.isArray(content) ? readTokens(content, repairs, alternatives) : null;
  return { content: tokens, refusal: null };
}

function readTokens(values: readonly unknown[], repairs: Repairs, alternatives: number): TokenLogprob[] {
  return values.flatMap((value) => {
    const { top_logprobs: top } = fieldsOf(value);
    const others = Array.isArray(top) ? top.slice(0, alternatives) : [];
    return readToken(value, repairs).map((token) => ({
      ...token,
      top_logprobs: others.flatMap((other) => readToken(other, repairs)),
    }));
  });
}

function readToken(value: unknown, repairs: Repairs): Omit<TokenLogprob, 'top_logprobs'>[] {
  const { token, logprob, bytes } = fieldsOf(value);
  if (typeof token !== 'string' || typeof logprob !== 'number') return [];
  return [{ token: unicode(token, repairs), logprob, bytes: isBytes(bytes) ? bytes : null }];
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isInteger(each));
}

/** Requires log probabilities of text, not of reasoning or calls. @throws ApiError `invalid_upstream_response` */
export function requireLogprobs(response: ChatResponse): ChatResponse {
  for (const choice of response.choices) if (lacksLogprobs(choice)) throw noLogprobs();
  return response;
}

/** Checks each choice of a stream at its end, like `requireLogprobs`. */
export async function* requireStreamedLogprobs(lists: ChatChunks): ChatChunks {
  const choices: ChatResponse['choices'] = [];
  for await (const chunks of lists) {
    for (const piece of chunks.flatMap((chunk) => chunk.choices)) {
      const choice = addToChoice(choices, piece);
      if (piece.finish_reason !== null && lacksLogprobs(choice)) throw noLogprobs();
    }
    yield chunks;
  }
}

type Choice = Pick<ChatResponse['choices'][number], 'message' | 'logprobs' | 'finish_reason'>;

function lacksLogprobs({ message: { content }, logprobs, finish_reason: finish }: Choice): boolean {
  return Boolean(content) && !logprobs?.content?.length && finish !== 'content_filter';
}

/** Permanent error, because the server ignores unknown fields at every attempt. */
export function noLogprobs(): ApiError {
  const message = "The model's server ignores logprobs: its answer has no log probabilities.";
  const options = { param: 'logprobs', blame: permanent, shouldRetry: false };
  return new ApiError('invalid_upstream_response', message, options);
}
