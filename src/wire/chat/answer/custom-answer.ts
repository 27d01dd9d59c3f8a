import type { CustomCall } from '../request/body.ts';
import type { AssistantMessage, ChatChoice, ChatChunk, ChatDelta, ChatResponse, ToolCall } from '../chat.ts';
import { inputOf } from '../free-text.ts';

/** A chat completion for a client that has tools with free text. */
export interface CustomResponse extends Omit<ChatResponse, 'choices'> {
  choices: (Omit<ChatChoice, 'message'> & {
    message: Omit<AssistantMessage, 'tool_calls'> & { tool_calls?: (ToolCall | CustomCall)[] };
  })[];
}

type CallPiece = NonNullable<ChatDelta['tool_calls']>[number];

export interface CustomChunk extends Omit<ChatChunk, 'choices'> {
  choices: (Omit<ChatChunk['choices'][number], 'delta'> & {
    delta: Omit<ChatDelta, 'tool_calls'> & { tool_calls?: (CallPiece | ({ index: number } & CustomCall))[] };
  })[];
}

/** An answer with calls of these tools as what they are to its client. */
export function toCustomResponse(response: ChatResponse, customs: ReadonlySet<string>): CustomResponse {
  return {
    ...response,
    choices: response.choices.map(({ message: { tool_calls: calls, ...said }, ...choice }) => ({
      ...choice,
      message: { ...said, ...(calls && { tool_calls: calls.map((call) => toCall(call, customs)) }) },
    })),
  };
}

function toCall(call: ToolCall, customs: ReadonlySet<string>): ToolCall | CustomCall {
  const { name, arguments: json } = call.function;
  return customs.has(name) ? customCall(call.id, name, json) : call;
}

function customCall(id: string, name: string, json: string): CustomCall {
  return { id, type: 'custom', custom: { name, input: inputOf(json) } };
}

/** The same for the chunks of one stream. A call with free text comes in one piece, with the end of its choice. */
export function customChunks(customs: ReadonlySet<string>): (chunk: ChatChunk) => CustomChunk {
  /** Of each choice, by the place of the call. */
  const waiting = new Map<number, Map<number, { id: string; name: string; json: string }>>();

  /** @returns whether it was kept for later */
  function held(choice: number, { index, id, function: called }: CallPiece): boolean {
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
