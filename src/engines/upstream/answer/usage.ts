import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { CallTrace, ReportedUsage } from '../../../core/call-trace.ts';
import { ApiError } from '../../../core/errors.ts';
import type { CustomTraits, UsageFigure } from '../../../core/flavor.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import type { Repairs } from '../connection/repairs.ts';
import { count, type UsageFigures, usageFigures } from './usage-figures.ts';

/** Finds the usage in an answer or in an event of a stream; undefined if there is none. */
export type UsageReader = (answer: Fields) => unknown;

/** Kimi reports the usage of a stream in its last choice, Groq in a member of its own. */
const usual: UsageReader = ({ usage, choices, x_groq: groq }) =>
  usage ?? (Array.isArray(choices) ? fieldsOf(choices[0])['usage'] : undefined) ?? fieldsOf(groq)['usage'];

/** @param paths configured places of the figures; `usage` if absent */
export function usageReader(paths: CustomTraits['usage'] | undefined): UsageReader {
  if (!paths) return usual;
  return (answer) => {
    const at = (figure: UsageFigure) =>
      paths[figure]?.reduce((value: unknown, name) => fieldsOf(value)[name], answer);
    const [prompt, completion] = [at('prompt_tokens'), at('completion_tokens')];
    if (prompt === undefined && completion === undefined) return undefined;
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: at('cached_tokens') },
      completion_tokens_details: { reasoning_tokens: at('reasoning_tokens') },
    };
  };
}

export interface UsageOptions {
  /** Estimates the tokens of the prompt; called only where the server does not report them. */
  estimatePrompt: () => number;
  /** Context of a server that silently truncates longer prompts, if known. */
  cutsAt?: number | null | undefined;
  repairs: Repairs;
  /** Record of what the server reported. */
  trace?: CallTrace | undefined;
}

/**
 * Turns a reported usage into whole numbers that add up (F30). Missing, negative and absurd figures are estimated. Reasoning
 * that only the total includes (xAI) counts as completion.
 * @param options `estimateAnswer`: estimates the tokens of the answer; called only where needed
 * @throws ApiError `context_length_exceeded` where the server truncated the prompt
 */
export function checkedUsage(
  usage: unknown,
  { estimatePrompt, estimateAnswer, cutsAt, repairs, trace }: UsageOptions & { estimateAnswer: () => number },
): ChatUsage {
  const figures = readUsage(usage, trace);
  // Some servers report 0 for unknown; only an empty answer has no tokens.
  const prompt = figures.prompt || undefined;
  const completion = figures.completion || (estimateAnswer() === 0 ? 0 : undefined);
  if (cutsAt && prompt !== undefined && isTruncated(prompt, estimatePrompt, cutsAt))
    throw promptTooLong(cutsAt);
  const isReported = prompt !== undefined && completion !== undefined;
  if (!isReported) repairs.add('usage estimated');
  const promptTokens = prompt ?? estimatePrompt();
  const completionTokens = isReported
    ? Math.max(completion, (figures.total ?? 0) - prompt)
    : (completion ?? estimateAnswer());
  const cached = Math.min(promptTokens, figures.cached ?? 0);
  return chatUsage(
    promptUsage(promptTokens, cached, Math.min(promptTokens - cached, figures.written ?? 0)),
    completionTokens,
    figures.reasoning && Math.min(completionTokens, figures.reasoning),
  );
}

/** True for a prompt that fills the context, or that lost whole messages, which only an estimate of twice that shows. */
export function isTruncated(prompt: number, estimatePrompt: () => number, context: number): boolean {
  return prompt === context || (prompt < context && estimatePrompt() > 2 * context);
}

export function promptTooLong(context: number): ApiError {
  return new ApiError(
    'context_length_exceeded',
    `The prompt is longer than the model's context of ${context} tokens, and the server truncated it.`,
  );
}

/** Reads a usage and adds it to the trace as reported, valid or not. */
export function readUsage(usage: unknown, trace: CallTrace | undefined): UsageFigures {
  if (!trace) return usageFigures(usage);
  let isValid = true;
  const figures = usageFigures(usage, (value) => {
    const number = typeof value === 'number' ? value : count(value);
    isValid &&= number === count(number);
    return number;
  });
  const reported: ReportedUsage = { ...trace.reported };
  const add = (name: keyof ReportedUsage, tokens: number | undefined) => {
    if (tokens !== undefined) reported[name] = (reported[name] ?? 0) + tokens;
  };
  add('inputTokens', figures.prompt);
  add('cachedTokens', figures.cached);
  add('outputTokens', figures.completion);
  add('totalTokens', figures.total);
  trace.reported = reported;
  return isValid ? figures : usageFigures(usage);
}
