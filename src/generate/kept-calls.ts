import { ApiError } from '../core/errors.ts';
import type { ChatChunk, ChatChunks, ChatDelta, ChatResponse, FinishReason } from '../wire/chat/chat.ts';
import type { CallRule } from './call-rule.ts';

type Choice = ChatResponse['choices'][number];
type ChunkChoice = ChatChunk['choices'][number];

/**
 * An answer with the calls that `rule` allows: those of other tools and those beyond the number are taken out. It ends with
 * `tool_calls` exactly when it holds calls, unless it was cut.
 * @throws ApiError `tool_not_called` when nothing is left of a choice
 */
export function keepCalls(response: ChatResponse, rule: CallRule): ChatResponse {
  return { ...response, choices: response.choices.map((choice) => keepChoice(choice, rule)) };
}

function keepChoice(choice: Choice, { names, most }: CallRule): Choice {
  const { tool_calls: given = [], ...message } = choice.message;
  const calls = given.filter(({ function: { name } }) => names?.has(name) ?? true).slice(0, most);
  const finish = finishOf(choice.finish_reason, calls.length > 0);
  if (calls.length === given.length && finish === choice.finish_reason) return choice;
  const [dropped] = given;
  if (dropped && calls.length === 0 && isOver(finish) && !message.content && !message.refusal)
    throw nothingLeft(dropped.function.name, most);
  const content = calls.length === 0 ? (message.content ?? '') : message.content;
  return {
    ...choice,
    message: { ...message, content, ...(calls.length > 0 && { tool_calls: calls }) },
    finish_reason: finish,
  };
}

/**
 * The same for an answer that is streamed as it comes.
 * @throws ApiError `tool_not_called` at the end of a choice of which nothing was left
 */
export async function* keepStreamedCalls(lists: ChatChunks, rule: CallRule): ChatChunks {
  const filters = new Map<number, CallFilter>();
  const keep = (chunk: ChatChunk): ChatChunk[] => {
    const choices = chunk.choices.flatMap((choice) => {
      let filter = filters.get(choice.index);
      if (!filter) filters.set(choice.index, (filter = createFilter(rule)));
      return filter(choice);
    });
    return choices.length > 0 || chunk.choices.length === 0 ? [{ ...chunk, choices }] : [];
  };
  for await (const chunks of lists) {
    const kept = chunks.flatMap(keep);
    if (kept.length > 0) yield kept;
  }
}

/** What is left of a piece of one choice: one piece or none. */
type CallFilter = (choice: ChunkChoice) => ChunkChoice[];

function createFilter({ names, most }: CallRule): CallFilter {
  /** Where a call of the engine stands among those that are kept. */
  const places = new Map<number, number>();
  let dropped: string | null = null;
  let said = false;

  function keptDeltas(calls: NonNullable<ChatDelta['tool_calls']>): typeof calls {
    return calls.flatMap((call) => {
      const name = call.function?.name;
      if (name !== undefined && !places.has(call.index)) {
        if ((names?.has(name) ?? true) && places.size < most) places.set(call.index, places.size);
        else dropped ??= name;
      }
      const index = places.get(call.index);
      return index === undefined ? [] : [{ ...call, index }];
    });
  }

  return (choice) => {
    const { tool_calls: given, ...delta } = choice.delta;
    said ||= Boolean(delta.content || delta.refusal);
    const calls = given && keptDeltas(given);
    const finish = choice.finish_reason && finishOf(choice.finish_reason, places.size > 0);
    if (finish && isOver(finish) && places.size === 0 && dropped !== null && !said)
      throw nothingLeft(dropped, most);
    const piece: ChunkChoice = {
      ...choice,
      delta: { ...delta, ...(calls?.length && { tool_calls: calls }) },
      finish_reason: finish,
    };
    const isEmpty = given !== undefined && calls?.length === 0 && Object.keys(delta).length === 0;
    return isEmpty && finish === null ? [] : [piece];
  };
}

function finishOf(given: FinishReason, hasCalls: boolean): FinishReason {
  if (given === 'stop' && hasCalls) return 'tool_calls';
  return given === 'tool_calls' && !hasCalls ? 'stop' : given;
}

/** Not one that was filtered, which says so itself. */
function isOver(finish: FinishReason): boolean {
  return finish === 'stop' || finish === 'length';
}

function nothingLeft(name: string, most: number): ApiError {
  return new ApiError(
    'tool_not_called',
    most === 0
      ? `The model called '${name}' instead of answering, and no tool may be called.`
      : `The model called '${name}', and that is none of the tools it may call.`,
  );
}
