import { type Fields, fieldsOf } from '../../../base/fields.ts';

/** More tokens than any request can have: beyond it an upstream's count is a fault. */
const absurd = 100_000_000;

/** Counts of tokens, `cached` included in `prompt`; undefined where the server reports none that is possible. */
export interface UsageFigures {
  prompt: number | undefined;
  cached: number | undefined;
  completion: number | undefined;
  reasoning: number | undefined;
  total: number | undefined;
}

/** Names of the figures in the formats and at the servers that differ, the most trusted first. */
const names = {
  prompt: 'prompt_tokens promptTokens',
  input: 'input_tokens inputTokens',
  completion: 'completion_tokens output_tokens completionTokens outputTokens',
  cached: `prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens prompt_cache_hit_tokens
    cached_tokens cached_input_tokens num_cached_tokens`,
  cacheRead: 'cache_read_input_tokens cacheReadInputTokens',
  cacheWritten: 'cache_creation_input_tokens cacheWriteInputTokens',
  reasoning: `completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens
    output_tokens_details.thinking_tokens reasoning_tokens thinking_tokens`,
  total: 'total_tokens totalTokens',
};

const paths = Object.fromEntries(
  Object.entries(names).map(([figure, list]) => [figure, list.split(/\s+/).map((name) => name.split('.'))]),
) as Record<keyof typeof names, [name: string, within?: string][]>;

/**
 * Reads a usage in the words of any format.
 * @param read what a reported value counts as
 */
export function usageFigures(usage: unknown, read = count): UsageFigures {
  const given = fieldsOf(usage);
  const of = (figure: keyof typeof names) => firstOf(given, paths[figure], read);
  const prompt = of('prompt');
  const within = of('cached') || undefined;
  const cacheRead = within === undefined ? of('cacheRead') : undefined;
  const input = prompt ? undefined : of('input');
  // In messages `input_tokens` are those beside the cache; in responses it includes them, as `prompt_tokens` does everywhere.
  const beside = () => (within === undefined ? (cacheRead ?? 0) + (of('cacheWritten') ?? 0) : 0);
  return {
    prompt: input === undefined ? prompt : input + beside(),
    cached: within ?? cacheRead,
    completion: of('completion'),
    reasoning: of('reasoning'),
    total: of('total'),
  };
}

/** The first count above 0; else 0 if any value is 0. */
function firstOf(given: Fields, all: (typeof paths)['total'], read: typeof count): number | undefined {
  let found: number | undefined;
  for (const [name, within] of all) {
    const value = given[name];
    found = read(within === undefined ? value : fieldsOf(value)[within]) ?? found;
    if (found) break;
  }
  return found;
}

/** A token count, or undefined when it is not one. Some servers write it as a string. */
export function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && (number as number) >= 0 && (number as number) <= absurd
    ? (number as number)
    : undefined;
}
