import type { ApiError } from '../../../core/errors.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { SplitChoices } from '../flavors/traits.ts';
import { unusable } from '../connection/parse-body.ts';

/** What may be asked for several choices. */
export interface Several extends Record<string, unknown> {
  n?: number | null;
  seed?: number | null;
  temperature?: number | null;
}

/** A question to a server. */
export interface ChoiceRequest<T> {
  body: JsonBody<T>;
  /** The number of its first choice among those of the request. */
  first: number;
  wanted: number;
  /** Whether its prompt was asked with before, and paid. */
  isRepeat: boolean;
}

/** Below this vLLM takes a temperature for 0. */
const greedyBelow = 1e-5;

/** Whether each of several choices is asked for by itself. */
export function isApart({ temperature }: Several, apart: SplitChoices | undefined): boolean {
  return apart === 'always' || (apart === 'greedy' && (temperature ?? 1) < greedyBelow);
}

/** Each of the `n` choices of one prompt by itself, one after the other, because a request holds one slot. */
export function eachAlone<T extends Several>(
  body: JsonBody<T>,
  first: number,
  n: number,
): ChoiceRequest<T>[] {
  return Array.from({ length: n }, (_, k) => alone(body, first, k));
}

/** The `k`th choice of one prompt by itself. Another seed, so that it is another answer. */
function alone<T extends Several>(body: JsonBody<T>, first: number, k: number): ChoiceRequest<T> {
  const { seed } = body.value;
  const single: Several = { n: undefined, ...(typeof seed === 'number' && { seed: seed + k }) };
  return {
    body: editBody<Several>(body, single) as JsonBody<T>,
    first: first + k,
    wanted: 1,
    isRepeat: k > 0,
  };
}

/** The questions in turn, and those for choices of one prompt that did not come: some servers make one whatever `n` says. */
export function* withMissing<T extends Several>(
  asks: readonly ChoiceRequest<T>[],
): Generator<{ ask: ChoiceRequest<T>; came: (choices: number) => void }> {
  const queue = [...asks];
  for (let ask = queue.shift(); ask; ask = queue.shift()) {
    const { body, first, wanted } = ask;
    let found = 0;
    yield { ask, came: (choices) => (found = choices) };
    if (found === wanted) continue;
    if (found > wanted || wanted !== (body.value.n ?? 1)) throw unexpected(found, wanted);
    for (let k = found; k < wanted; k++) queue.push(alone(body, first, k));
  }
}

export function unexpected(found: number, wanted: number): ApiError {
  return unusable(`has ${found} choices where ${wanted} were asked for`);
}

/** A prompt counts once, as where a server makes all choices at a time. */
export function withUsage<T>(
  total: ChatUsage | null | undefined,
  more: ChatUsage,
  { isRepeat }: ChoiceRequest<T>,
): ChatUsage {
  if (!total) return more;
  const prompt = total.prompt_tokens + (isRepeat ? 0 : more.prompt_tokens);
  const completion = total.completion_tokens + more.completion_tokens;
  const cached = isRepeat ? 0 : more.prompt_tokens_details.cached_tokens;
  const reasoning = total.completion_tokens_details?.reasoning_tokens;
  const { reasoning_tokens: thought = 0 } = more.completion_tokens_details ?? {};
  return chatUsage(
    promptUsage(prompt, total.prompt_tokens_details.cached_tokens + cached),
    completion,
    reasoning === undefined ? undefined : reasoning + thought,
  );
}
