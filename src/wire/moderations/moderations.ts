import type { DirectRequest } from '../shared/direct-format.ts';

/** Body of `POST /v1/moderations`, as of OpenAI. */
export interface ModerationsRequest extends DirectRequest {
  /** A text, several texts, or one input of several parts. */
  input: string | readonly string[] | readonly ModerationPart[];
}

export type ModerationPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } };

/** Judgements of an engine. */
export interface Moderations {
  /** One for each input: `flagged`, `categories` and `category_scores`, with the categories of the model. */
  results: readonly ModerationResult[];
  promptTokens: number;
}

export interface ModerationResult {
  flagged: boolean;
  categories: Record<string, unknown>;
  [more: string]: unknown;
}

/** Number of inputs: several texts are judged one by one, several parts together. */
export function inputCount({ input }: ModerationsRequest): number {
  return typeof input === 'string' || typeof input[0] === 'object' ? 1 : input.length;
}

/** Parts of all inputs. */
export function moderationParts({ input }: ModerationsRequest): ModerationPart[] {
  const items = typeof input === 'string' ? [input] : input;
  return items.map((item) => (typeof item === 'string' ? { type: 'text', text: item } : item));
}
