import { ApiError } from '../../core/errors.ts';
import type { ChatChunk, ChatChunks, ChatResponse, FinishReason } from '../../wire/chat/chat.ts';
import type { CallRule } from './rule.ts';

/** Decides about the calls of one choice, whether they come at once or in pieces. */
class CallFilter {
  #rule: CallRule;
  /** Where a call of the engine stands among those that are kept. */
  #places = new Map<number, number>();
  #dropped: string | null = null;

  constructor(rule: CallRule) {
    this.#rule = rule;
  }

  get kept(): number {
    return this.#places.size;
  }

  /**
   * Where a call goes; undefined when it is taken out.
   * @param index its number in the engine's answer
   * @param name undefined for the later pieces of a call
   */
  place(index: number, name: string | undefined): number | undefined {
    const { names, most } = this.#rule;
    if (name !== undefined && !this.#places.has(index)) {
      if ((names?.has(name) ?? true) && this.kept < most) this.#places.set(index, this.kept);
      else this.#dropped ??= name;
    }
    return this.#places.get(index);
  }

  /**
   * With `tool_calls` a choice ends exactly when it holds calls, unless it was cut.
   * @param said whether it holds anything beside calls
   * @throws ApiError `tool_not_called` when nothing is left of it; one that was filtered says so itself
   */
  finish(given: FinishReason, said: boolean): FinishReason {
    if (this.kept > 0) return given === 'stop' ? 'tool_calls' : given;
    const finish = given === 'tool_calls' ? 'stop' : given;
    if (this.#dropped !== null && !said && finish !== 'content_filter')
      throw nothingLeft(this.#dropped, this.#rule.most);
    return finish;
  }
}

/**
 * An answer with the calls that `rule` allows: those of other tools and those beyond the number are taken out.
 * @throws ApiError `tool_not_called` when nothing is left of a choice
 */
export function keepCalls(response: ChatResponse, rule: CallRule): ChatResponse {
  return { ...response, choices: response.choices.map((choice) => keepChoice(choice, rule)) };
}

type Choice = ChatResponse['choices'][number];

function keepChoice(choice: Choice, rule: CallRule): Choice {
  const filter = new CallFilter(rule);
  const { tool_calls: given = [], ...message } = choice.message;
  const calls = given.filter(({ function: { name } }, index) => filter.place(index, name) !== undefined);
  const finish = filter.finish(choice.finish_reason, Boolean(message.content || message.refusal));
  if (calls.length === given.length && finish === choice.finish_reason) return choice;
  const kept = calls.length > 0 ? { tool_calls: calls } : { content: message.content ?? '' };
  return { ...choice, message: { ...message, ...kept }, finish_reason: finish };
}

/**
 * The same for an answer that is streamed as it comes.
 * @throws ApiError `tool_not_called` at the end of a choice of which nothing was left
 */
export async function* keepStreamedCalls(lists: ChatChunks, rule: CallRule): ChatChunks {
  const choices = new Map<number, PieceFilter>();
  const keep = (chunk: ChatChunk): ChatChunk[] => {
    const kept = chunk.choices.flatMap((choice) => {
      let filter = choices.get(choice.index);
      if (!filter) choices.set(choice.index, (filter = createPieceFilter(rule)));
      return filter(choice);
    });
    return kept.length > 0 || chunk.choices.length === 0 ? [{ ...chunk, choices: kept }] : [];
  };
  for await (const chunks of lists) {
    const kept = chunks.flatMap(keep);
    if (kept.length > 0) yield kept;
  }
}

type Piece = ChatChunk['choices'][number];
/** What is left of a piece of one choice: one piece or none. */
type PieceFilter = (piece: Piece) => Piece[];

function createPieceFilter(rule: CallRule): PieceFilter {
  const filter = new CallFilter(rule);
  let said = false;
  return (choice) => {
    const { tool_calls: given, ...delta } = choice.delta;
    said ||= Boolean(delta.content || delta.refusal);
    const calls = given?.flatMap((call) => {
      const index = filter.place(call.index, call.function?.name);
      return index === undefined ? [] : [{ ...call, index }];
    });
    const finish = choice.finish_reason && filter.finish(choice.finish_reason, said);
    if (calls?.length === 0 && Object.keys(delta).length === 0 && finish === null) return [];
    return [
      {
        ...choice,
        delta: { ...delta, ...(calls?.length && { tool_calls: calls }) },
        finish_reason: finish,
      },
    ];
  };
}

function nothingLeft(name: string, most: number): ApiError {
  return new ApiError(
    'tool_not_called',
    most === 0
      ? `The model called '${name}' instead of answering, and no tool may be called.`
      : `The model called '${name}', and that is none of the tools it may call.`,
  );
}
