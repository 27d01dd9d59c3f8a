import type { ChatChunk } from '../wire/chat/chat.ts';
import { type FunctionsChunk, toFunctionsChunk } from '../wire/chat/function-answer.ts';
import { chatDone, chatEvent } from '../wire/chat/sse.ts';

export interface ChatEventsOptions {
  includeUsage: boolean;
  /** The client sent `functions` and knows no tool calls. */
  hasFunctions: boolean;
  /** An error in the places of the request as the client sent it. */
  moved: (error: unknown) => unknown;
}

/**
 * A chat stream as events. The usage chunk goes to those who asked for it, and their other chunks carry `usage: null`; the
 * others must not get it, because they look at `choices[0]` of every chunk. `[DONE]` only when all went well.
 */
export async function* chatEvents(
  chunks: AsyncIterable<ChatChunk>,
  { includeUsage, hasFunctions, moved }: ChatEventsOptions,
): AsyncGenerator<string> {
  try {
    for await (const given of chunks) {
      const chunk = hasFunctions ? toFunctionsChunk(given) : given;
      if (includeUsage) yield chatEvent({ ...chunk, usage: chunk.usage ?? null });
      else if (chunk.choices.length > 0) yield chatEvent(withoutUsage(chunk));
    }
  } catch (error) {
    throw moved(error);
  }
  yield chatDone;
}

function withoutUsage({ usage: _usage, ...chunk }: ChatChunk | FunctionsChunk): ChatChunk | FunctionsChunk {
  return chunk;
}
