import { ApiError } from '../../../core/errors.ts';
import type { CallKnown, Reported } from '../../../core/call-known.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import type { OwnTraits, UsageFigure } from '../../../core/flavor.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { Repairs } from './repairs.ts';

/** More tokens than any request can have: beyond it an upstream's count is a fault. */
const absurd = 100_000_000;

/** What an answer, or an event of one, tells of its usage, in the words of chat completions; undefined where it is silent. */
export type UsageReader = (answer: Fields) => unknown;

const usual: UsageReader = ({ usage }) => usage;

/** @param places where a server tells what, if not in `usage` */
export function usageReader(places: OwnTraits['usage'] | undefined): UsageReader {
  if (!places) return usual;
  return (answer) => {
    const of = (figure: UsageFigure) =>
      places[figure]?.reduce((found: unknown, name) => fieldsOf(found)[name], answer);
    const [prompt, completion] = [of('prompt_tokens'), of('completion_tokens')];
    if (prompt === undefined && completion === undefined) return undefined;
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: of('cached_tokens') },
      completion_tokens_details: { reasoning_tokens: of('reasoning_tokens') },
    };
  };
}

/** How the usage of an answer is checked. */
export interface Counting {
  /** Tokens of the prompt, about; asked only where the server does not tell them. */
  asked: () => number;
  /** The context of a server that cuts longer prompts silently, where it is known. */
  cutsAt?: number | null | undefined;
  repairs: Repairs;
  /** Where it is written down what the server told. */
  known?: CallKnown | undefined;
}

/**
 * An upstream's usage made whole numbers that add up (reliability.md, F30). What is missing, negative, not a number or
 * beyond reason is estimated. Some (xAI) count what was thought in the total alone: that is an answer, too.
 * @param counting `answered`: tokens of the answer, about; asked only where they are needed
 * @throws ApiError `context_length_exceeded` when the prompt was cut: the answer is one to something else
 */
export function checkedUsage(
  usage: unknown,
  { asked, answered, cutsAt, repairs, known }: Counting & { answered: () => number },
): ChatUsage {
  const given = fieldsOf(usage);
  noteReported(known, given);
  // No prompt has no tokens, and no text has none: some servers say zero where they mean that they do not know.
  const prompt = count(given['prompt_tokens']) || undefined;
  const completion = count(given['completion_tokens']) || (answered() === 0 ? 0 : undefined);
  if (cutsAt && prompt !== undefined && wasCut(prompt, asked, cutsAt)) throw tooLongPrompt(cutsAt);
  const isTold = prompt !== undefined && completion !== undefined;
  if (!isTold) repairs.add('usage estimated');
  const promptTokens = prompt ?? asked();
  const completionTokens = isTold
    ? Math.max(completion, (count(given['total_tokens']) ?? 0) - prompt)
    : (completion ?? answered());
  const reasoning = reasoningTokens(given);
  return chatUsage(
    promptUsage(promptTokens, Math.min(promptTokens, count(toldCached(given)) ?? 0)),
    completionTokens,
    reasoning && Math.min(completionTokens, reasoning),
  );
}

/**
 * A prompt that fills the context was cut to it, or whole messages of it were left out: then an estimate alone tells, which is
 * not believed before it is twice as much.
 */
export function wasCut(prompt: number, asked: () => number, context: number): boolean {
  return prompt === context || (prompt < context && asked() > 2 * context);
}

export function tooLongPrompt(context: number): ApiError {
  return new ApiError(
    'context_length_exceeded',
    `The prompt is longer than the ${context} tokens of the model's context, and its server had cut it.`,
  );
}

/** Writes down what a server told, in the words of chat completions, before anything of it is judged. */
export function noteReported(known: CallKnown | undefined, usage: Fields): void {
  if (!known) return;
  const reported: Reported = { ...known.reported };
  const add = (figure: keyof Reported, told: unknown) => {
    if (typeof told === 'number') reported[figure] = (reported[figure] ?? 0) + told;
  };
  add('inputTokens', usage['prompt_tokens']);
  add('cachedTokens', toldCached(usage));
  add('outputTokens', usage['completion_tokens']);
  add('totalTokens', usage['total_tokens']);
  known.reported = reported;
}

/** DeepSeek has its own name for them, and Kimi its own place. */
function toldCached(given: Fields): unknown {
  const { prompt_tokens_details: details, prompt_cache_hit_tokens: hit, cached_tokens: beside } = given;
  return fieldsOf(details)['cached_tokens'] ?? hit ?? beside;
}

/** SGLang tells them beside the other figures. */
function reasoningTokens(given: Fields): number | undefined {
  const { reasoning_tokens: told } = fieldsOf(given['completion_tokens_details']);
  return count(told) ?? count(given['reasoning_tokens']);
}

/** A token count, or undefined when it is not one. */
export function count(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= absurd
    ? (value as number)
    : undefined;
}
