import { createFairGate } from '../base/fair-gate.ts';
import { ApiError } from '../core/errors.ts';
import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { type EmbeddingsRequest, isEmbeddings } from '../wire/embeddings/embeddings.ts';

/** No vocabulary in use has a longer token: 128 spaces, or 128 dashes. */
const maxTokenBytes = 128;
/** More text is not sent to a server for the sake of a number. */
const maxSentBytes = 4 * 2 ** 20;
/** Counts of one model that run at once; of one org half of them. */
const maxConcurrent = 4;
const maxWaiting = 1_000;

/** Tokens of the prompt as the engine counts them; undefined where it cannot tell. */
export type CountPrompt = (
  request: ChatRequest | EmbeddingsRequest,
  orgId: string,
  signal?: AbortSignal,
) => Promise<number | undefined>;

/**
 * Counts for one model, a few at once and orgs in turns: an engine reads a long prompt for a while.
 * @throws ApiError `context_length_exceeded` for what cannot fit the model's context, `rate_limit_exceeded`
 */
export function createCountPrompt(engine: Engine): CountPrompt {
  const gate = createFairGate({
    capacity: maxConcurrent,
    maxPerOwner: maxConcurrent / 2,
    maxWaiting,
    fullError: () =>
      new ApiError('rate_limit_exceeded', 'Too many requests wait to have their tokens counted.', {
        retryAfter: 1,
      }),
  });
  return async (request, orgId, signal) => {
    const bytes = textBytes(request);
    const { contextLength } = engine.capabilities;
    if (contextLength !== null && !isEmbeddings(request)) requirePossible(bytes, contextLength);
    else if (bytes > maxSentBytes) return undefined;
    return gate.within(orgId, 1, signal, () => engine.countTokens(request));
  };
}

function requirePossible(bytes: number, contextLength: number): void {
  if (bytes <= contextLength * maxTokenBytes) return;
  throw new ApiError(
    'context_length_exceeded',
    `The messages have ${bytes} bytes of text. This model's context holds ${contextLength} tokens, and tokens have ` +
      `${maxTokenBytes} bytes at most, so they cannot fit and are not counted. Shorten the messages.`,
    { param: 'messages' },
  );
}

/** Bytes of what the messages say, as UTF-8. Pictures, sounds and files are no text. */
function textBytes(request: ChatRequest | EmbeddingsRequest): number {
  if (isEmbeddings(request)) return JSON.stringify(request.input).length;
  const { messages } = request;
  let bytes = 0;
  for (const { content } of messages)
    if (typeof content === 'string') bytes += Buffer.byteLength(content);
    else for (const { text } of content ?? []) bytes += Buffer.byteLength(text ?? '');
  return bytes;
}
