import type { TokenAmounts } from '../limits/limiter.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { estimatePrompt, estimateText } from '../wire/chat/request/estimate-prompt.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import { answersPerPrompt, estimateTextPrompt } from '../wire/completions/request.ts';
import type { EmbeddingsRequest } from '../wire/embeddings/embeddings.ts';
import { splitTextInputs } from '../wire/shared/text-inputs.ts';

// Tokens that limits and budgets reserve for a single request until its usage is known.

/** Output tokens reserved for a chat request without a maximum. */
const defaultChatTokens = 1_024;
/** Default maximum of text completions. */
const defaultCompletionTokens = 16;

export function chatTokens(chat: ChatRequest): TokenAmounts {
  const most = chat.max_completion_tokens ?? chat.max_tokens ?? defaultChatTokens;
  return { inputTokens: estimatePrompt(chat), outputTokens: most * (chat.n ?? 1) };
}

export function embeddingTokens({ input }: EmbeddingsRequest): TokenAmounts {
  const tokens = splitTextInputs('input', input).map(({ input: text }) =>
    typeof text === 'string' ? estimateText(text) : text.length,
  );
  return { inputTokens: tokens.reduce((sum, count) => sum + count, 0), outputTokens: 0 };
}

export function completionTokens(request: CompletionsRequest): TokenAmounts {
  const prompts = splitTextInputs('prompt', request.prompt).length;
  const most = request.max_tokens ?? defaultCompletionTokens;
  return {
    inputTokens: estimateTextPrompt(request),
    outputTokens: most * prompts * answersPerPrompt(request),
  };
}
