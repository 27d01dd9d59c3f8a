import type { ChatChunk } from '../wire/chat/chat.ts';
import { chatDone, chatEventWriter } from '../wire/chat/stream/sse.ts';
import type { CompletionChunk } from '../wire/completions/completions.ts';

export interface ChatEventsOptions<Chunk> {
  includeUsage: boolean;
  /** A chunk in the words of the client, where those are others. */
  present?: ((chunk: Chunk) => { choices: object[] }) | undefined;
  /** An error in the places of the request as the client sent it. */
  moved?: (error: unknown) => unknown;
}

/**
 * A stream of chat, or of text completions, as events. The usage chunk goes to those who asked for it, and their other chunks
 * carry `usage: null`; the others must not get it, because they look at `choices[0]` of every chunk. `[DONE]` only when all
 * went well.
 */
export async function* chatEvents<Chunk extends ChatChunk | CompletionChunk>(
  lists: AsyncIterable<readonly Chunk[]>,
  { includeUsage, present, moved = (error) => error }: ChatEventsOptions<Chunk>,
): AsyncGenerator<string> {
  try {
    let write;
    for await (const chunks of lists) {
      let written = '';
      for (const chunk of chunks) {
        write ??= chatEventWriter(chunk);
        const { choices }: { choices: object[] } = present ? present(chunk) : chunk;
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
