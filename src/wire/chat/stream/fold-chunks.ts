import { ApiError } from '../../../core/errors.ts';
import type { AssistantMessage, ChatChoice, ChatChunk, ChatChunks, ChatResponse, ToolCall } from '../chat.ts';
import { addDetails } from '../reasoning-details.ts';

/**
 * The whole answer that a stream tells in pieces: what the server would have answered at once. A choice that said nothing
 * has an empty text.
 * @param lists as an engine gives them: every choice with its finish reason, the usage last
 */
export async function foldChunks(lists: ChatChunks): Promise<ChatResponse> {
  const folding = new ChunkFolder();
  for await (const chunks of lists) folding.add(chunks);
  return folding.whole();
}

/** The same for one who passes the chunks on. */
export class ChunkFolder {
  #choices: ChatChoice[] = [];
  #last: ChatChunk | undefined;

  add(chunks: readonly ChatChunk[]): void {
    for (const chunk of chunks) {
      this.#last = chunk;
      for (const piece of chunk.choices) addToChoice(this.#choices, piece);
    }
  }

  /** @throws ApiError `invalid_upstream_response` for one without usage */
  whole(): ChatResponse {
    const last = this.#last;
    if (!last?.usage)
      throw new ApiError('invalid_upstream_response', 'The answer of the engine has no usage.');
    const { id, created, model, usage, system_fingerprint: fingerprint } = last;
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: this.#choices.filter(Boolean).map(completeChoice),
      usage,
      ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
    };
  }
}

function begun(index: number): ChatChoice {
  const message: AssistantMessage = { role: 'assistant', content: null, refusal: null };
  return { index, message, logprobs: null, finish_reason: 'stop' };
}

/** Adds a piece of a stream to its choice, which it returns. */
export function addToChoice(choices: ChatChoice[], piece: ChatChunk['choices'][number]): ChatChoice {
  const choice = (choices[piece.index] ??= begun(piece.index));
  const { delta, logprobs, finish_reason: finish, stop_reason } = piece;
  const { message } = choice;
  if (typeof delta.content === 'string') message.content = (message.content ?? '') + delta.content;
  if (delta.refusal) message.refusal = (message.refusal ?? '') + delta.refusal;
  if (delta.reasoning)
    message.reasoning = message.reasoning_content = (message.reasoning ?? '') + delta.reasoning;
  if (delta.reasoning_details) addDetails((message.reasoning_details ??= []), delta.reasoning_details);
  for (const { index, id, function: called, extra_content: extra } of delta.tool_calls ?? []) {
    const calls: ToolCall[] = (message.tool_calls ??= []);
    const call = (calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
    if (id !== undefined) call.id = id;
    if (extra) call.extra_content = extra;
    call.function.name += called?.name ?? '';
    call.function.arguments += called?.arguments ?? '';
  }
  if (logprobs) {
    choice.logprobs ??= { content: null, refusal: null };
    if (logprobs.content) (choice.logprobs.content ??= []).push(...logprobs.content);
  }
  if (finish !== null) choice.finish_reason = finish;
  if (stop_reason !== undefined) choice.stop_reason = stop_reason;
  return choice;
}

/** Of one that said nothing, an empty text. */
export function completeChoice(choice: ChatChoice): ChatChoice {
  const { message } = choice;
  if (!message.tool_calls && message.refusal === null) message.content ??= '';
  return choice;
}
