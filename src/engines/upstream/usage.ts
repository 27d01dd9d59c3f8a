import type { ChatUsage } from '../../wire/chat/chat.ts';

/** More tokens than any request can have: beyond it an upstream's count is a fault. */
const absurd = 100_000_000;

export interface CheckedUsage {
  usage: ChatUsage;
  /** The upstream's own figures could not be used. */
  estimated: boolean;
}

/** Texts to estimate from: about four bytes a token. */
export interface Spoken {
  asked: string;
  answered: string;
}

/**
 * An upstream's usage made whole numbers that add up (reliability.md, F30). What is missing, negative, not a number or
 * beyond reason is estimated from the text.
 */
export function checkedUsage(usage: unknown, { asked, answered }: Spoken): CheckedUsage {
  const given = (typeof usage === 'object' && usage !== null ? usage : {}) as Record<string, unknown>;
  // No prompt has no tokens, and no text has none: some servers say zero where they mean that they do not know.
  const prompt = count(given['prompt_tokens']) || undefined;
  const completion = count(given['completion_tokens']) || (answered === '' ? 0 : undefined);
  const reasoning = reasoningTokens(given);
  const details = (given['prompt_tokens_details'] ?? {}) as Record<string, unknown>;
  const promptTokens = prompt ?? estimate(asked);
  const completionTokens = completion ?? estimate(answered);
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: Math.min(promptTokens, count(details['cached_tokens']) ?? 0) },
      ...(reasoning !== undefined && {
        completion_tokens_details: { reasoning_tokens: Math.min(completionTokens, reasoning) },
      }),
    },
    estimated: prompt === undefined || completion === undefined,
  };
}

/** SGLang tells them beside the other figures. */
function reasoningTokens(given: Record<string, unknown>): number | undefined {
  const details = (given['completion_tokens_details'] ?? {}) as Record<string, unknown>;
  return count(details['reasoning_tokens']) ?? count(given['reasoning_tokens']);
}

/** A token count, or undefined when it is not one. */
export function count(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= absurd
    ? (value as number)
    : undefined;
}

export function estimate(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
