import type { ChatChunk } from '../wire/chat/chat.ts';
import { chatDone, chatEvent } from '../wire/chat/sse.ts';

/**
 * A chat stream as events. The usage chunk goes to those who asked for it, and their other chunks carry `usage: null`; the
 * others must not get it, because they look at `choices[0]` of every chunk. `[DONE]` only when all went well.
 */
export async function* chatEvents(
  chunks: AsyncIterable<ChatChunk>,
  includeUsage: boolean,
): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    if (includeUsage) yield chatEvent({ ...chunk, usage: chunk.usage ?? null });
    else if (chunk.choices.length > 0) yield chatEvent(withoutUsage(chunk));
  }
  yield chatDone;
}

function withoutUsage({ usage: _usage, ...chunk }: ChatChunk): ChatChunk {
  return chunk;
}
