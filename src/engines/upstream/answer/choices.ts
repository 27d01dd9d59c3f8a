import type { ChatChunk, ChatChunks, ChatRequest, ChatResponse, ChatUsage } from '../../../wire/chat/chat.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';

type Request = JsonBody<ChatRequest>;
/** When several choices are not asked for together (`flavors.ts`). */
export type Apart = 'always' | 'greedy';

/**
 * An answer with as many choices as were asked for. Some servers make one whatever `n` says; they are asked again for
 * those that are missing, one after the other, because a request holds one slot.
 * @param apart when each choice is asked for by itself from the start
 */
export async function allChoices(
  request: Request,
  once: (request: Request) => Promise<ChatResponse>,
  apart: Apart | undefined,
): Promise<ChatResponse> {
  const answer = await once(firstOf(request, apart));
  for (let index = answer.choices.length; index < wanted(request); index++) {
    const { choices, usage } = await once(singleChoice(request, index));
    answer.choices.push({ ...choices[0]!, index });
    answer.usage = withChoice(answer.usage, usage);
  }
  return answer;
}

/** The same as chunks, for more than one choice; the usage of all together at the end. */
export async function* streamAllChoices(
  request: Request,
  once: (request: Request) => ChatChunks,
  apart: Apart | undefined,
): ChatChunks {
  const seen = new Set<number>();
  let usage: ChatChunk | undefined;
  for await (const chunks of once(firstOf(request, apart))) {
    for (const { index } of chunks.flatMap(({ choices }) => choices)) seen.add(index);
    usage = chunks.find(isUsage) ?? usage;
    yield chunks.filter((chunk) => !isUsage(chunk));
  }
  for (let index = seen.size; index < wanted(request); index++) {
    for await (const chunks of once(singleChoice(request, index))) {
      const total = usage?.usage;
      const more = chunks.find(isUsage);
      if (more?.usage) usage = { ...more, usage: total ? withChoice(total, more.usage) : more.usage };
      yield chunks
        .filter((chunk) => !isUsage(chunk))
        .map((chunk) => ({ ...chunk, choices: chunk.choices.map((choice) => ({ ...choice, index })) }));
    }
  }
  if (usage) yield [usage];
}

const isUsage = ({ usage }: ChatChunk) => Boolean(usage);

function wanted({ value: { n } }: Request): number {
  return n ?? 1;
}

/** Below this vLLM takes a temperature for 0. */
const greedyBelow = 1e-5;

/** Whether each of several choices is asked for by itself. */
export function isApart({ temperature }: { temperature?: number | null }, apart: Apart | undefined): boolean {
  return apart === 'always' || (apart === 'greedy' && (temperature ?? 1) < greedyBelow);
}

function firstOf(request: Request, apart: Apart | undefined): Request {
  return wanted(request) > 1 && isApart(request.value, apart) ? singleChoice(request, 0) : request;
}

/** Another seed, so that it is another answer. */
function singleChoice(request: Request, index: number): Request {
  const { seed } = request.value;
  return editBody(request, { n: undefined, ...(typeof seed === 'number' && { seed: seed + index }) });
}

/** The prompt counts once, as where a server makes all choices at a time. */
function withChoice(
  total: ChatUsage,
  { completion_tokens: more, completion_tokens_details: details }: ChatUsage,
): ChatUsage {
  const reasoning = total.completion_tokens_details?.reasoning_tokens;
  return {
    ...total,
    completion_tokens: total.completion_tokens + more,
    total_tokens: total.total_tokens + more,
    ...(reasoning !== undefined && {
      completion_tokens_details: { reasoning_tokens: reasoning + (details?.reasoning_tokens ?? 0) },
    }),
  };
}
