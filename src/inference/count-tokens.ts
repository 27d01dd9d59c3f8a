import { createFairGate } from '../base/fair-gate.ts';
import { ApiError } from '../core/errors.ts';
import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { type EmbeddingsRequest, isEmbeddings } from '../wire/embeddings/embeddings.ts';

/** Longest token of the vocabularies in use: 128 spaces or dashes. */
const maxTokenBytes = 128;
/** Longer texts are not sent to a server for a count. */
const maxSentBytes = 4 * 2 ** 20;
/** Concurrent counts of one model; one org gets at most half. */
const maxConcurrent = 4;
const maxWaiting = 1_000;

/** Tokens of the prompt as the engine counts them; undefined if it cannot. */
export type CountPrompt = (
  request: ChatRequest | EmbeddingsRequest,
  orgId: string,
  signal?: AbortSignal,
) => Promise<number | undefined>;

/**
 * Counts tokens for one model, a few prompts at a time with orgs in turn, because long prompts take long.
 * @throws ApiError `context_length_exceeded` for prompts that cannot fit the model's context, `rate_limit_exceeded`
 */
export function createCountPrompt(engine: Engine): CountPrompt {
  const gate = createFairGate({
    capacity: maxConcurrent,
    maxPerOwner: maxConcurrent / 2,
    maxWaiting,
    fullError: () =>
      new ApiError('rate_limit_exceeded', 'Too many token counts are waiting. Try again soon.', {
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
    `The messages have ${bytes} bytes of text. This model's context holds ${contextLength} tokens of at most ` +
      `${maxTokenBytes} bytes, so the messages cannot fit and are not counted. Shorten them.`,
    { param: 'messages' },
  );
}

/** UTF-8 bytes of the messages' text, without images, audio and files; for embeddings, characters of the input as JSON. */
function textBytes(request: ChatRequest | EmbeddingsRequest): number {
  if (isEmbeddings(request)) return JSON.stringify(request.input).length;
  const { messages } = request;
  let bytes = 0;
  for (const { content } of messages)
    if (typeof content === 'string') bytes += Buffer.byteLength(content);
    else for (const { text } of content ?? []) bytes += Buffer.byteLength(text ?? '');
  return bytes;
}
