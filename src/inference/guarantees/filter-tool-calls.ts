import { ApiError } from '../../core/errors.ts';
import type { ChatChunk, ChatChunks, ChatResponse, FinishReason } from '../../wire/chat/chat.ts';
import type { CallRule } from './engine-guarantees.ts';

type Choice = ChatResponse['choices'][number];
type Piece = ChatChunk['choices'][number];

/**
 * Removes calls that `rule` does not allow. A choice ends with `tool_calls` if and only if it holds calls, unless it was
 * truncated.
 * @throws ApiError `tool_not_called` if nothing is left of a choice
 */
export function filterToolCalls(response: ChatResponse, rule: CallRule): ChatResponse {
  return { ...response, choices: response.choices.map((choice) => new CallFilter(rule).whole(choice)) };
}

/**
 * Filters a streamed answer in the same way.
 * @throws ApiError `tool_not_called` at the end of a choice of which nothing is left
 */
export async function* filterStreamedToolCalls(lists: ChatChunks, rule: CallRule): ChatChunks {
  const filters = new Map<number, CallFilter>();
  const keep = (chunk: ChatChunk): ChatChunk[] => {
    const choices = chunk.choices.flatMap((piece) => {
      let filter = filters.get(piece.index);
      if (!filter) filters.set(piece.index, (filter = new CallFilter(rule)));
      return filter.piece(piece);
    });
    return choices.length > 0 || chunk.choices.length === 0 ? [{ ...chunk, choices }] : [];
  };
  for await (const chunks of lists) {
    const kept = chunks.flatMap(keep);
    if (kept.length > 0) yield kept;
  }
}

/** Filters the calls of one choice, whole or in pieces. */
class CallFilter {
  #rule: CallRule;
  /** Index among the calls left, by index in the engine's answer. */
  #indexes = new Map<number, number>();
  #dropped: string | null = null;
  #hasContent = false;

  constructor(rule: CallRule) {
    this.#rule = rule;
  }

  whole(choice: Choice): Choice {
    const { tool_calls: given = [], ...message } = choice.message;
    const calls = given.filter(({ function: { name } }, index) => this.#indexOf(index, name) !== undefined);
    this.#hasContent = Boolean(message.content || message.refusal);
    const finish = this.#finish(choice.finish_reason);
    if (calls.length === given.length && finish === choice.finish_reason) return choice;
    const kept = calls.length > 0 ? { tool_calls: calls } : { content: message.content ?? '' };
    return { ...choice, message: { ...message, ...kept }, finish_reason: finish };
  }

  /** Returns the rest of a piece, or nothing. */
  piece(piece: Piece): Piece[] {
    const { tool_calls: given, ...delta } = piece.delta;
    this.#hasContent ||= Boolean(delta.content || delta.refusal);
    const calls = given?.flatMap((call) => {
      const index = this.#indexOf(call.index, call.function?.name);
      return index === undefined ? [] : [{ ...call, index }];
    });
    const finish = piece.finish_reason && this.#finish(piece.finish_reason);
    if (calls?.length === 0 && Object.keys(delta).length === 0 && finish === null) return [];
    const kept = calls?.length ? { ...delta, tool_calls: calls } : delta;
    return [{ ...piece, delta: kept, finish_reason: finish }];
  }

  /** New index of a call; undefined if it is removed. @param name undefined for the later pieces of a call */
  #indexOf(index: number, name: string | undefined): number | undefined {
    const { names, maxCalls } = this.#rule;
    if (name !== undefined && !this.#indexes.has(index)) {
      if ((names?.has(name) ?? true) && this.#indexes.size < maxCalls)
        this.#indexes.set(index, this.#indexes.size);
      else this.#dropped ??= name;
    }
    return this.#indexes.get(index);
  }

  #finish(given: FinishReason): FinishReason {
    if (this.#indexes.size > 0) return given === 'stop' ? 'tool_calls' : given;
    const finish = given === 'tool_calls' ? 'stop' : given;
    // `content_filter` already explains an empty choice.
    if (this.#dropped !== null && !this.#hasContent && finish !== 'content_filter')
      throw nothingLeft(this.#dropped, this.#rule.maxCalls);
    return finish;
  }
}

function nothingLeft(name: string, maxCalls: number): ApiError {
  const why = maxCalls === 0 ? ', but the request allows no calls' : ', which the request does not allow';
  return new ApiError('tool_not_called', `The model called the tool '${name}'${why}.`);
}
