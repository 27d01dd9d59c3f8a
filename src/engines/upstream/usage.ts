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
  const prompt = count(given['prompt_tokens']);
  const completion = count(given['completion_tokens']);
  const details = (given['prompt_tokens_details'] ?? {}) as Record<string, unknown>;
  const promptTokens = prompt ?? estimate(asked);
  const completionTokens = completion ?? estimate(answered);
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: Math.min(promptTokens, count(details['cached_tokens']) ?? 0) },
    },
    estimated: prompt === undefined || completion === undefined,
  };
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
