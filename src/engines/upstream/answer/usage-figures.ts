import { type Fields, fieldsOf } from '../../../base/fields.ts';

/** Counts above this are errors of the upstream. */
const maxTokens = 100_000_000;

/** Token counts, with `cached` included in `prompt`; undefined where the server reports no valid one. */
export interface UsageFigures {
  prompt: number | undefined;
  cached: number | undefined;
  /** Tokens written to the cache, included in `prompt`. */
  written: number | undefined;
  completion: number | undefined;
  reasoning: number | undefined;
  total: number | undefined;
}

/** Names of the figures in all formats and at servers that differ, the most trusted first. */
const names = {
  prompt: 'prompt_tokens promptTokens',
  input: 'input_tokens inputTokens',
  completion: 'completion_tokens output_tokens completionTokens outputTokens',
  cached: `prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens prompt_cache_hit_tokens
    cached_tokens cached_input_tokens num_cached_tokens`,
  cacheRead: 'cache_read_input_tokens cacheReadInputTokens',
  cacheWritten: `cache_creation_input_tokens cacheWriteInputTokens input_tokens_details.cache_write_tokens
    prompt_tokens_details.cache_write_tokens`,
  reasoning: `completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens
    output_tokens_details.thinking_tokens reasoning_tokens thinking_tokens`,
  total: 'total_tokens totalTokens',
};

const paths = Object.fromEntries(
  Object.entries(names).map(([figure, list]) => [figure, list.split(/\s+/).map((name) => name.split('.'))]),
) as Record<keyof typeof names, [name: string, within?: string][]>;

/** Reads a usage of any format. @param read converts a reported value to a count */
export function usageFigures(usage: unknown, read = count): UsageFigures {
  const given = fieldsOf(usage);
  const of = (figure: keyof typeof names) => firstOf(given, paths[figure], read);
  const prompt = of('prompt');
  const within = of('cached') || undefined;
  const cacheRead = within === undefined ? of('cacheRead') : undefined;
  const input = prompt ? undefined : of('input');
  // `input_tokens` excludes cached tokens in messages and includes them in responses, as `prompt_tokens` always does.
  const excluded = () => (within === undefined ? (cacheRead ?? 0) + (of('cacheWritten') ?? 0) : 0);
  return {
    prompt: input === undefined ? prompt : input + excluded(),
    cached: within ?? cacheRead,
    written: of('cacheWritten'),
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

/** Token count; undefined for an invalid value. Some servers send strings. */
export function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && (number as number) >= 0 && (number as number) <= maxTokens
    ? (number as number)
    : undefined;
}
