import type { ApiError } from '../../../core/errors.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { unusable } from '../connection/parse-body.ts';
import type { SplitChoices } from '../flavors/traits.ts';

/** Members of requests for several choices. */
export interface SeveralChoices extends Record<string, unknown> {
  n?: number | null;
  seed?: number | null;
  temperature?: number | null;
}

/** A request to a server for some or all choices of a client's request. */
export interface ChoiceRequest<T> {
  body: JsonBody<T>;
  /** Index of its first choice in the whole answer. */
  first: number;
  choices: number;
  /** True where its prompt was sent, and counted, before. */
  isRepeat: boolean;
}

/** Temperature below which vLLM samples greedily. */
const greedyBelow = 1e-5;

/** True where each of several choices is requested by itself. */
export function isSplit({ temperature }: SeveralChoices, split: SplitChoices | undefined): boolean {
  return split === 'always' || (split === 'greedy' && (temperature ?? 1) < greedyBelow);
}

/** Requests for the `n` choices of one prompt, to be sent one after the other, because a client's request holds one slot. */
export function eachAlone<T extends SeveralChoices>(
  body: JsonBody<T>,
  first: number,
  n: number,
): ChoiceRequest<T>[] {
  return Array.from({ length: n }, (_, k) => alone(body, first, k));
}

/** Request for the `k`th choice of one prompt, with another seed for another answer. */
function alone<T extends SeveralChoices>(body: JsonBody<T>, first: number, k: number): ChoiceRequest<T> {
  const { seed } = body.value;
  const single: SeveralChoices = { n: undefined, ...(typeof seed === 'number' && { seed: seed + k }) };
  return {
    body: editBody<SeveralChoices>(body, single) as JsonBody<T>,
    first: first + k,
    choices: 1,
    isRepeat: k > 0,
  };
}

/** Yields the requests in turn, then those for missing choices of one prompt: some servers make one whatever `n` says. */
export function* withMissing<T extends SeveralChoices>(
  requests: readonly ChoiceRequest<T>[],
): Generator<{ part: ChoiceRequest<T>; received: (choices: number) => void }> {
  const queue = [...requests];
  for (let part = queue.shift(); part; part = queue.shift()) {
    const { body, first, choices } = part;
    let count = 0;
    yield { part, received: (number) => (count = number) };
    if (count === choices) continue;
    if (count > choices || choices !== (body.value.n ?? 1)) throw wrongNumber(count, choices);
    for (let k = count; k < choices; k++) queue.push(alone(body, first, k));
  }
}

export function wrongNumber(count: number, requested: number): ApiError {
  return unusable(`has ${count} choices instead of ${requested}`);
}

/** Adds the usage of a request. A prompt counts once, as at a server that makes all choices together. */
export function addUsage<T>(
  total: ChatUsage | null | undefined,
  more: ChatUsage,
  { isRepeat }: ChoiceRequest<T>,
): ChatUsage {
  if (!total) return more;
  const prompt = total.prompt_tokens + (isRepeat ? 0 : more.prompt_tokens);
  const cached = isRepeat ? 0 : more.prompt_tokens_details.cached_tokens;
  const reasoning = total.completion_tokens_details?.reasoning_tokens;
  const { reasoning_tokens: added = 0 } = more.completion_tokens_details ?? {};
  return chatUsage(
    promptUsage(prompt, total.prompt_tokens_details.cached_tokens + cached),
    total.completion_tokens + more.completion_tokens,
    reasoning === undefined ? undefined : reasoning + added,
  );
}
