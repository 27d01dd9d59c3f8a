import { ApiError, permanent } from '../../../core/errors.ts';
import type { ChatChunks, ChatResponse } from '../../../wire/chat/chat.ts';
import { addToChoice } from '../../../wire/chat/stream/fold-chunks.ts';

type Choice = Pick<ChatResponse['choices'][number], 'message' | 'logprobs' | 'finish_reason'>;

/**
 * An answer whose text has the log probabilities that were asked for. Thoughts and calls need none.
 * @throws ApiError `invalid_upstream_response` where the server ignored `logprobs`
 */
export function requireLogprobs(response: ChatResponse): ChatResponse {
  for (const choice of response.choices) if (isWithout(choice)) throw noLogprobs();
  return response;
}

/** The same at the end of each choice of a stream. */
export async function* requireLogprobsOf(lists: ChatChunks): ChatChunks {
  const choices: ChatResponse['choices'] = [];
  for await (const chunks of lists) {
    for (const piece of chunks.flatMap((chunk) => chunk.choices)) {
      const choice = addToChoice(choices, piece);
      if (piece.finish_reason !== null && isWithout(choice)) throw noLogprobs();
    }
    yield chunks;
  }
}

function isWithout({ message: { content }, logprobs, finish_reason: finish }: Choice): boolean {
  return Boolean(content) && !logprobs?.content?.length && finish !== 'content_filter';
}

/** The same again, however often it is asked: the server ignores what it does not know. */
export function noLogprobs(): ApiError {
  const words = "The model's server ignores logprobs: its answer has no log probabilities.";
  return new ApiError('invalid_upstream_response', words, {
    param: 'logprobs',
    blame: permanent,
    shouldRetry: false,
  });
}
