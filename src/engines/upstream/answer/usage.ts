import { ApiError } from '../../../core/errors.ts';
import type { CallTrace, ReportedUsage } from '../../../core/call-trace.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import type { CustomTraits, UsageFigure } from '../../../core/flavor.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { Repairs } from '../connection/repairs.ts';
import { count, usageFigures } from './usage-figures.ts';

/** The usage in an answer or in one of its events; undefined without one. */
export type UsageReader = (answer: Fields) => unknown;

/** Kimi reports the usage of a stream in its last choice, Groq in a member of its own. */
const usual: UsageReader = ({ usage, choices, x_groq: groq }) =>
  usage ?? (Array.isArray(choices) ? fieldsOf(choices[0])['usage'] : undefined) ?? fieldsOf(groq)['usage'];

/** @param places where a server tells what, if not in `usage` */
export function usageReader(places: CustomTraits['usage'] | undefined): UsageReader {
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
  known?: CallTrace | undefined;
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
  noteReported(known, usage);
  const told = usageFigures(usage);
  // No prompt has no tokens, and no text has none: some servers say zero where they mean that they do not know.
  const prompt = told.prompt || undefined;
  const completion = told.completion || (answered() === 0 ? 0 : undefined);
  if (cutsAt && prompt !== undefined && wasCut(prompt, asked, cutsAt)) throw tooLongPrompt(cutsAt);
  const isTold = prompt !== undefined && completion !== undefined;
  if (!isTold) repairs.add('usage estimated');
  const promptTokens = prompt ?? asked();
  const completionTokens = isTold
    ? Math.max(completion, (told.total ?? 0) - prompt)
    : (completion ?? answered());
  return chatUsage(
    promptUsage(promptTokens, Math.min(promptTokens, told.cached ?? 0)),
    completionTokens,
    told.reasoning && Math.min(completionTokens, told.reasoning),
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

/** Records the usage that a server reported, before it is checked. */
export function noteReported(known: CallTrace | undefined, usage: unknown): void {
  if (!known) return;
  const reported: ReportedUsage = { ...known.reported };
  const add = (figure: keyof ReportedUsage, told: number | undefined) => {
    if (told !== undefined) reported[figure] = (reported[figure] ?? 0) + told;
  };
  const { prompt, cached, completion, total } = usageFigures(usage, anyNumber);
  add('inputTokens', prompt);
  add('cachedTokens', cached);
  add('outputTokens', completion);
  add('totalTokens', total);
  known.reported = reported;
}

function anyNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : count(value);
}
