import type { ChatChunks } from '../wire/chat/chat.ts';
import { toFunctionsChunk } from '../wire/chat/function-answer.ts';
import { chatDone, chatEventWriter } from '../wire/chat/sse.ts';

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
  lists: ChatChunks,
  { includeUsage, hasFunctions, moved }: ChatEventsOptions,
): AsyncGenerator<string> {
  try {
    let write;
    for await (const chunks of lists) {
      let written = '';
      for (const chunk of chunks) {
        write ??= chatEventWriter(chunk);
        const { choices } = hasFunctions ? toFunctionsChunk(chunk) : chunk;
        if (includeUsage) written += write({ choices, usage: chunk.usage ?? null });
        else if (choices.length > 0) written += write({ choices });
      }
      yield written;
    }
  } catch (error) {
    throw moved(error);
  }
  yield chatDone;
}
