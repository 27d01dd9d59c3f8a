import type { CustomCall } from '../request/body.ts';
import type { CallForm } from '../request/canonical.ts';
import type { ChatChunk, ChatDelta, ChatResponse, FinishReason, ToolCall } from '../chat.ts';
import { readFreeText } from '../free-text.ts';

/** Answer, or a chunk of one, in the client's form. */
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
      const { tool_calls: calls, ...rest } = message;
      const called = hasFunctions
        ? functionCall(calls?.[0])
        : calls && { tool_calls: calls.map((call) => toCall(call, customs)) };
      return {
        ...choice,
        message: { ...rest, ...called },
        finish_reason: hasFunctions ? olderFinish(finish) : finish,
      };
    }),
  };
}

/** Returns a function that converts the chunks of one stream; undefined if they need no conversion. */
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
      const { tool_calls: calls, ...rest } = delta;
      return {
        ...choice,
        delta: { ...rest, ...functionCall(calls?.find(({ index }) => index === 0)) },
        finish_reason: finish === null ? null : olderFinish(finish),
      };
    }),
  };
}

/** The one call that the older functions API allows. */
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

/** Free-text calls are sent in one piece, at the end of their choice. */
function customChunks(customs: ReadonlySet<string>): (chunk: ChatChunk) => Presented<ChatChunk> {
  /** Calls by choice, and by index of the call. */
  const pending = new Map<number, Map<number, { id: string; name: string; json: string }>>();

  /** @returns true if the delta belongs to a free-text call, which is sent later */
  function hold(choice: number, { index, id, function: called }: ToolCallDelta): boolean {
    const calls = pending.get(choice) ?? new Map();
    const call = calls.get(index);
    if (call) call.json += called?.arguments ?? '';
    else if (!customs.has(called?.name ?? '')) return false;
    else {
      calls.set(index, { id, name: called?.name, json: called?.arguments ?? '' });
      pending.set(choice, calls);
    }
    return true;
  }

  function take(choice: number) {
    const calls = [...(pending.get(choice) ?? [])];
    pending.delete(choice);
    return calls.map(([index, { id, name, json }]) => ({ index, ...customCall(id, name, json) }));
  }

  return (chunk) => ({
    ...chunk,
    choices: chunk.choices.map(({ delta: { tool_calls: deltas = [], ...rest }, ...choice }) => {
      const others = deltas.filter((delta) => !hold(choice.index, delta));
      const calls = [...others, ...(choice.finish_reason === null ? [] : take(choice.index))];
      return { ...choice, delta: { ...rest, ...(calls.length > 0 && { tool_calls: calls }) } };
    }),
  });
}
