import type { ChatChunk } from '../wire/chat/chat.ts';
import type { AnswerOptions } from '../wire/messages/from-chat-response.ts';
import { messageEvent } from '../wire/messages/sse.ts';
import { createMessageEncoder } from '../wire/messages/stream-encoder.ts';

/**
 * A chat stream as the events of a message.
 * @param inputTokens counted while the answer begins: clients want the number in the first event
 */
export async function* messageEvents(
  chunks: AsyncIterable<ChatChunk>,
  inputTokens: Promise<number>,
  options: AnswerOptions,
): AsyncGenerator<string> {
  let encoder;
  for await (const chunk of chunks) {
    encoder ??= createMessageEncoder({ ...options, inputTokens: await inputTokens });
    for (const event of encoder.push(chunk)) yield messageEvent(event);
  }
  encoder ??= createMessageEncoder({ ...options, inputTokens: await inputTokens });
  for (const event of encoder.end()) yield messageEvent(event);
}
