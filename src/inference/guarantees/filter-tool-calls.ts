import { ApiError } from '../../core/errors.ts';
import type { ChatChunk, ChatChunks, ChatResponse, FinishReason } from '../../wire/chat/chat.ts';
import type { CallRule } from './engine-guarantees.ts';

type Choice = ChatResponse['choices'][number];
type Piece = ChatChunk['choices'][number];

/**
 * An answer with the calls that `rule` allows: those of other tools and those beyond the number are taken out. A choice ends
 * with `tool_calls` exactly when it holds calls, unless it was cut.
 * @throws ApiError `tool_not_called` when nothing is left of a choice
 */
export function filterToolCalls(response: ChatResponse, rule: CallRule): ChatResponse {
  return { ...response, choices: response.choices.map((choice) => new CallFilter(rule).whole(choice)) };
}

/**
 * The same for an answer that is streamed as it comes.
 * @throws ApiError `tool_not_called` at the end of a choice of which nothing was left
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

/** Decides about the calls of one choice, whether they come at once or in pieces. */
class CallFilter {
  #rule: CallRule;
  /** Where a call of the engine stands among those that are kept. */
  #places = new Map<number, number>();
  #dropped: string | null = null;
  /** It holds something beside calls. */
  #said = false;

  constructor(rule: CallRule) {
    this.#rule = rule;
  }

  whole(choice: Choice): Choice {
    const { tool_calls: given = [], ...message } = choice.message;
    const calls = given.filter(({ function: { name } }, index) => this.#place(index, name) !== undefined);
    this.#said = Boolean(message.content || message.refusal);
    const finish = this.#finish(choice.finish_reason);
    if (calls.length === given.length && finish === choice.finish_reason) return choice;
    const kept = calls.length > 0 ? { tool_calls: calls } : { content: message.content ?? '' };
    return { ...choice, message: { ...message, ...kept }, finish_reason: finish };
  }

  /** What is left of a piece: one piece or none. */
  piece(piece: Piece): Piece[] {
    const { tool_calls: given, ...delta } = piece.delta;
    this.#said ||= Boolean(delta.content || delta.refusal);
    const calls = given?.flatMap((call) => {
      const index = this.#place(call.index, call.function?.name);
      return index === undefined ? [] : [{ ...call, index }];
    });
    const finish = piece.finish_reason && this.#finish(piece.finish_reason);
    if (calls?.length === 0 && Object.keys(delta).length === 0 && finish === null) return [];
    const kept = calls?.length ? { ...delta, tool_calls: calls } : delta;
    return [{ ...piece, delta: kept, finish_reason: finish }];
  }

  /**
   * Where a call goes; undefined when it is taken out.
   * @param name undefined for the later pieces of a call
   */
  #place(index: number, name: string | undefined): number | undefined {
    const { names, maxCalls } = this.#rule;
    if (name !== undefined && !this.#places.has(index)) {
      if ((names?.has(name) ?? true) && this.#places.size < maxCalls)
        this.#places.set(index, this.#places.size);
      else this.#dropped ??= name;
    }
    return this.#places.get(index);
  }

  /** One that was filtered says itself why nothing is left of it. */
  #finish(given: FinishReason): FinishReason {
    if (this.#places.size > 0) return given === 'stop' ? 'tool_calls' : given;
    const finish = given === 'tool_calls' ? 'stop' : given;
    if (this.#dropped !== null && !this.#said && finish !== 'content_filter')
      throw nothingLeft(this.#dropped, this.#rule.maxCalls);
    return finish;
  }
}

function nothingLeft(name: string, most: number): ApiError {
  return new ApiError(
    'tool_not_called',
    most === 0
      ? `The model called '${name}' instead of answering, and no tool may be called.`
      : `The model called '${name}', and that is none of the tools it may call.`,
  );
}
