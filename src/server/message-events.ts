import type { ChatChunks } from '../wire/chat/chat.ts';
import type { AnswerOptions } from '../wire/messages/answer/from-chat-response.ts';
import { messageEvent } from '../wire/messages/stream/sse.ts';
import { createMessageEncoder } from '../wire/messages/stream/stream-encoder.ts';

/**
 * A chat stream as the events of a message.
 * @param inputTokens counted while the answer begins, for engines that do not tell: clients want the number in the first event
 */
export async function* messageEvents(
  lists: ChatChunks,
  inputTokens: Promise<number>,
  options: AnswerOptions,
): AsyncGenerator<string> {
  let encoder;
  for await (const chunks of lists) {
    encoder ??= createMessageEncoder({ ...options, inputTokens: chunks[0]?.prompt ? 0 : await inputTokens });
    yield chunks
      .flatMap((chunk) => encoder.push(chunk))
      .map(messageEvent)
      .join('');
  }
  encoder ??= createMessageEncoder({ ...options, inputTokens: await inputTokens });
  yield encoder.end().map(messageEvent).join('');
}

/** The events of a message that came as one. */
export async function* nativeEvents(
  lists: AsyncIterable<readonly string[]>,
  moved: (error: unknown) => unknown,
): AsyncGenerator<string> {
  try {
    for await (const events of lists) {
      yield events.join('');
    }
  } catch (error) {
    throw moved(error);
  }
}
