import type { DirectKind } from '../core/model.ts';
import type { TokenAmounts } from '../limits/limiter.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { estimatePrompt } from '../wire/chat/request/estimate-prompt.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import { answersPerPrompt, estimateTextPrompt } from '../wire/completions/request.ts';
import { directFormats, type DirectRequests } from '../wire/direct/direct-formats.ts';
import { splitTextInputs } from '../wire/shared/text-inputs.ts';

// Tokens that limits and budgets reserve for a single request until its usage is known. Clients that want no maximum send a very
// large one, so no more is reserved than the model can generate.

/** Output tokens reserved for a chat request without a maximum. */
const defaultChatTokens = 1_024;
/** Default maximum of text completions. */
const defaultCompletionTokens = 16;
/** Most tokens reserved for an answer of a model whose context is unknown. */
const maxAnswerTokens = 32_768;

/** Context of a model in tokens; null or undefined if unknown. */
type ContextLength = number | null | undefined;

export function chatTokens(chat: ChatRequest, context: ContextLength): TokenAmounts {
  const most = chat.max_completion_tokens ?? chat.max_tokens ?? defaultChatTokens;
  const inputTokens = estimatePrompt(chat);
  return { inputTokens, outputTokens: answerTokens(most, inputTokens, context) * (chat.n ?? 1) };
}

export function directTokens<Kind extends DirectKind>(
  kind: Kind,
  request: DirectRequests[Kind],
): TokenAmounts {
  return { inputTokens: directFormats[kind].inputTokens(request), outputTokens: 0 };
}

export function completionTokens(request: CompletionsRequest, context: ContextLength): TokenAmounts {
  const prompts = splitTextInputs('prompt', request.prompt).length;
  const most = request.max_tokens ?? defaultCompletionTokens;
  const inputTokens = estimateTextPrompt(request);
  // Each answer shares the context with its own prompt.
  const perAnswer = answerTokens(most, inputTokens / prompts, context);
  return { inputTokens, outputTokens: Math.ceil(perAnswer * prompts * answersPerPrompt(request)) };
}

/** Most tokens of one answer. An estimated prompt that fills the context leaves one, because the estimate may be too high. */
function answerTokens(most: number, promptTokens: number, context: ContextLength): number {
  const room = context ? Math.max(1, context - promptTokens) : maxAnswerTokens;
  return Math.min(most, room);
}
