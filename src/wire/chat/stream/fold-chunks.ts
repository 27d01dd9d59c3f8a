import { ApiError } from '../../../core/errors.ts';
import type { AssistantMessage, ChatChoice, ChatChunk, ChatChunks, ChatResponse, ToolCall } from '../chat.ts';
import { addDetails } from '../reasoning-details.ts';

/**
 * Assembles the whole answer from a stream. A choice without content gets an empty text.
 * @param lists every choice with its finish reason, the usage last
 */
export async function foldChunks(lists: ChatChunks): Promise<ChatResponse> {
  const folder = new ChunkFolder();
  for await (const chunks of lists) folder.add(chunks);
  return folder.whole();
}

/** Assembles an answer from chunks that are also passed on. */
export class ChunkFolder {
  #choices: ChatChoice[] = [];
  #last: ChatChunk | undefined;

  add(chunks: readonly ChatChunk[]): void {
    for (const chunk of chunks) {
      this.#last = chunk;
      for (const piece of chunk.choices) addToChoice(this.#choices, piece);
    }
  }

  /** @throws ApiError `invalid_upstream_response` if the usage is missing */
  whole(): ChatResponse {
    const last = this.#last;
    if (!last?.usage) throw new ApiError('invalid_upstream_response', "The engine's answer has no usage.");
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

function emptyChoice(index: number): ChatChoice {
  const message: AssistantMessage = { role: 'assistant', content: null, refusal: null };
  return { index, message, logprobs: null, finish_reason: 'stop' };
}

/** Adds a piece of a stream to its choice, and returns the choice. */
export function addToChoice(choices: ChatChoice[], piece: ChatChunk['choices'][number]): ChatChoice {
  const choice = (choices[piece.index] ??= emptyChoice(piece.index));
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

/** Sets an empty text if the choice has no content. */
export function completeChoice(choice: ChatChoice): ChatChoice {
  const { message } = choice;
  if (!message.tool_calls && message.refusal === null) message.content ??= '';
  return choice;
}
