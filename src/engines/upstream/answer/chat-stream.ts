import type { ChatChunk, ChatChunks, ChatDelta } from '../../../wire/chat/chat.ts';
import { generatedText } from '../../../wire/chat/answer/generated-text.ts';
import { reasoningDetails } from '../../../wire/chat/reasoning-details.ts';
import { CallPieces } from './call-pieces.ts';
import { type ReadOptions, textsIn, toolCallsOf } from './chat-response.ts';
import { type ChunkReader, readChunks, type StreamOptions } from './chunk-stream.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { finishReason, stopReason } from './finish-reason.ts';
import { readLogprobs } from './logprobs.ts';
import { unicode } from '../connection/repairs.ts';

export interface ChatStreamOptions extends StreamOptions, Pick<ReadOptions, 'newCallId' | 'alternatives'> {}

/** Reads a streamed chat completion into canonical chunks. Throws like `readChunks`. @param chunkOf converts other formats */
export function readChatStream(
  bytes: AsyncIterable<Uint8Array>,
  options: ChatStreamOptions,
  chunkOf?: ChunkReader<never>['chunkOf'],
): ChatChunks {
  const choices = new Map<number, CallPieces>();
  return readChunks(bytes, options, {
    read: (choice, event) => readChoice(choice, event, choices, options),
    textOf: ({ delta }) => generatedText(delta),
    chunkOf,
  });
}

function readChoice(
  given: Fields,
  event: Fields,
  choices: Map<number, CallPieces>,
  options: ChatStreamOptions,
): ChatChunk['choices'][number] {
  const index = Number.isInteger(given['index']) ? (given['index'] as number) : 0;
  const begun = choices.get(index);
  const calls = begun ?? new CallPieces(options.newCallId);
  const delta = readDelta(fieldsOf(given['delta'] ?? given['message']), calls, options);
  if (!begun) {
    choices.set(index, calls);
    // Some servers omit the role, and some clients require it in the first piece.
    delta.role = 'assistant';
  }
  const logprobs = readLogprobs(given['logprobs'], options.repairs, options.alternatives);
  const reason = given['finish_reason'] ?? '';
  if (reason === '') return { index, delta, logprobs, finish_reason: null };
  const finish = finishReason(reason, calls.hasCalls, options);
  addCalls(delta, calls.end(finish !== 'tool_calls'));
  return { index, delta, logprobs, finish_reason: finish, ...stopReason(given, event) };
}

function readDelta(given: Fields, calls: CallPieces, { repairs }: ChatStreamOptions): ChatDelta {
  const delta: ChatDelta = {};
  if (given['role'] === 'assistant') delta.role = 'assistant';
  const { content, reasoning } = textsIn(given);
  if (content !== null) delta.content = unicode(content, repairs);
  if (reasoning !== '') delta.reasoning = delta.reasoning_content = unicode(reasoning, repairs);
  const details = reasoningDetails(given['reasoning_details']);
  if (details.length > 0) delta.reasoning_details = details;
  const refusal = stringOr(given['refusal'], '');
  if (refusal !== '') delta.refusal = unicode(refusal, repairs);
  addCalls(delta, calls.add(toolCallsOf(given)));
  return delta;
}

function addCalls(delta: ChatDelta, calls: NonNullable<ChatDelta['tool_calls']>): void {
  if (calls.length > 0) delta.tool_calls = [...(delta.tool_calls ?? []), ...calls];
}
