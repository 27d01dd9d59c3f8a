import type { CustomCall } from '../request/body.ts';
import type { CallForm } from '../request/canonical.ts';
import type { ChatChunk, ChatDelta, ChatResponse, FinishReason, ToolCall } from '../chat.ts';
import { readFreeText } from '../free-text.ts';

/** An answer, or a chunk of one, in the words of its client. */
export type Presented<T extends { choices: unknown }> = Omit<T, 'choices'> & { choices: object[] };

type ToolCallDelta = NonNullable<ChatDelta['tool_calls']>[number];

export function presentChat(
  response: ChatResponse,
  { hasFunctions, customs }: CallForm,
): Presented<ChatResponse> {
  if (!hasFunctions && customs.size === 0) return response;
  return {
    ...response,
    choices: response.choices.map(({ message, finish_reason: finish, ...choice }) => {
      const { tool_calls: calls, ...said } = message;
      const called = hasFunctions
        ? functionCall(calls?.[0])
        : calls && { tool_calls: calls.map((call) => toCall(call, customs)) };
      return {
        ...choice,
        message: { ...said, ...called },
        finish_reason: hasFunctions ? olderFinish(finish) : finish,
      };
    }),
  };
}

/** What makes such chunks of those of one stream; none where they are right as they are. */
export function chunkPresenter({
  hasFunctions,
  customs,
}: CallForm): ((chunk: ChatChunk) => Presented<ChatChunk>) | undefined {
  if (hasFunctions) return toFunctionsChunk;
  return customs.size > 0 ? customChunks(customs) : undefined;
}

function toFunctionsChunk(chunk: ChatChunk): Presented<ChatChunk> {
  return {
    ...chunk,
    choices: chunk.choices.map(({ delta, finish_reason: finish, ...choice }) => {
      const { tool_calls: calls, ...said } = delta;
      return {
        ...choice,
        delta: { ...said, ...functionCall(calls?.find(({ index }) => index === 0)) },
        finish_reason: finish === null ? null : olderFinish(finish),
      };
    }),
  };
}

/** The call where functions had it. A second one, which nobody was asked for, has no place there. */
function functionCall(call: Partial<ToolCallDelta> | undefined) {
  return call?.function && { function_call: call.function };
}

function olderFinish(finish: FinishReason): string {
  return finish === 'tool_calls' ? 'function_call' : finish;
}

function toCall(call: ToolCall, customs: ReadonlySet<string>): ToolCall | CustomCall {
  const { name, arguments: json } = call.function;
  return customs.has(name) ? customCall(call.id, name, json) : call;
}

function customCall(id: string, name: string, json: string): CustomCall {
  return { id, type: 'custom', custom: { name, input: readFreeText(json) } };
}

/** A call with free text comes in one piece, with the end of its choice. */
function customChunks(customs: ReadonlySet<string>): (chunk: ChatChunk) => Presented<ChatChunk> {
  /** Of each choice, by the place of the call. */
  const waiting = new Map<number, Map<number, { id: string; name: string; json: string }>>();

  /** @returns whether it was kept for later */
  function held(choice: number, { index, id, function: called }: ToolCallDelta): boolean {
    const calls = waiting.get(choice) ?? new Map();
    const begun = calls.get(index);
    if (begun) begun.json += called?.arguments ?? '';
    else if (!customs.has(called?.name ?? '')) return false;
    else {
      calls.set(index, { id, name: called?.name, json: called?.arguments ?? '' });
      waiting.set(choice, calls);
    }
    return true;
  }

  function taken(choice: number) {
    const calls = [...(waiting.get(choice) ?? [])];
    waiting.delete(choice);
    return calls.map(([index, { id, name, json }]) => ({ index, ...customCall(id, name, json) }));
  }

  return (chunk) => ({
    ...chunk,
    choices: chunk.choices.map(({ delta: { tool_calls: pieces = [], ...said }, ...choice }) => {
      const others = pieces.filter((piece) => !held(choice.index, piece));
      const whole = choice.finish_reason === null ? [] : taken(choice.index);
      const calls = [...others, ...whole];
      return { ...choice, delta: { ...said, ...(calls.length > 0 && { tool_calls: calls }) } };
    }),
  });
}
