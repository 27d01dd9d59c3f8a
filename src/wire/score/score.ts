import type { DirectRequest } from '../shared/direct-format.ts';

/** Body of `POST /v1/score`, as of vLLM: two lists under either pair of names. */
export interface ScoreRequest extends DirectRequest {
  text_1?: string | readonly string[] | null;
  text_2?: string | readonly string[] | null;
  queries?: string | readonly string[] | null;
  documents?: string | readonly string[] | null;
}

/** Scores as an engine rates them. */
export interface Scores {
  /** One for each pair. */
  scores: readonly number[];
  promptTokens: number;
}

/** The two texts of each pair: the first list has as many as the second, or one for all. */
export interface ScoredTexts {
  first: readonly string[];
  second: readonly string[];
}

/** Texts of a checked request. */
export function scoredTexts({ text_1, text_2, queries, documents }: ScoreRequest): ScoredTexts {
  const listed = (texts: string | readonly string[]) => (typeof texts === 'string' ? [texts] : texts);
  return { first: listed(text_1 ?? queries ?? []), second: listed(text_2 ?? documents ?? []) };
}
