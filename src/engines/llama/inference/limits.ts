import { ApiError } from '../../../core/errors.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';

/** How many tokens a request may generate. */
export interface TokenLimit {
  tokens: number;
  /** The request field that set it, or null when the context did. */
  field: 'max_completion_tokens' | 'max_tokens' | null;
}

/** Throws 400 `context_length_exceeded` when not even one token fits behind the prompt. */
export function tokenLimit(request: ChatRequest, promptTokens: number, contextLength: number): TokenLimit {
  const room = contextLength - promptTokens;
  if (room < 1) {
    throw new ApiError(
      'context_length_exceeded',
      `The prompt has ${promptTokens} tokens, and this model's context holds ${contextLength}, ` +
        'of which at least 1 must be left for the answer. Shorten the messages.',
      { param: 'messages' },
    );
  }
  const field =
    (request.max_completion_tokens ?? undefined) === undefined ? 'max_tokens' : 'max_completion_tokens';
  const asked = request[field] ?? undefined;
  if (asked === undefined) return { tokens: room, field: null };
  return asked <= room ? { tokens: asked, field } : { tokens: room, field: null };
}
