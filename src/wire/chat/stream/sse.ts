import { withoutBreaks } from '../../json/line-text.ts';
import type { ServiceTier } from '../../../core/service-tier.ts';
import type { ChatUsage } from '../chat.ts';

/** Last event of a stream that succeeded. */
export const lastEvent = 'data: [DONE]\n\n';

/** A chunk of a chat completion, or of a text completion, which is streamed in the same way. */
interface AnyChunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: object[];
  usage?: ChatUsage | null;
}

/**
 * Writer of the events of one stream, which serializes the fields that all chunks share only once.
 * @returns a function from a chunk to its event
 */
export function chatEventWriter({
  id,
  object,
  created,
  model,
  service_tier: tier,
}: Omit<AnyChunk, 'choices' | 'usage'> & { service_tier?: ServiceTier | undefined }): (
  chunk: Pick<AnyChunk, 'choices' | 'usage'>,
) => string {
  const head = JSON.stringify({ id, object, created, model, service_tier: tier }).slice(0, -1);
  return ({ choices, usage }) => {
    const tail = usage === undefined ? '' : `,"usage":${JSON.stringify(usage)}`;
    return `data: ${withoutBreaks(`${head},"choices":${JSON.stringify(choices)}${tail}}`)}\n\n`;
  };
}

export interface ChatEventsOptions<Chunk> {
  includeUsage: boolean;
  /** Tier of a chat completion; text completions have none. */
  tier?: ServiceTier;
  /** Converts a chunk to the client's form, where that differs. */
  present?: ((chunk: Chunk) => { choices: object[] }) | undefined;
  /** Maps the paths in an error to those of the client's request. */
  mapError?: (error: unknown) => unknown;
}

/**
 * Events of a stream of chat or text completions. Clients that asked for usage get a usage chunk, and `usage: null` in the
 * others; other clients must not get it, because they read `choices[0]` of every chunk. `[DONE]` is sent only on success.
 */
export async function* chatEvents<Chunk extends AnyChunk>(
  lists: AsyncIterable<readonly Chunk[]>,
  { includeUsage, tier, present, mapError = (error) => error }: ChatEventsOptions<Chunk>,
): AsyncGenerator<string> {
  try {
    let write;
    for await (const chunks of lists) {
      let written = '';
      for (const chunk of chunks) {
        write ??= chatEventWriter({ ...chunk, service_tier: tier });
        const { choices }: { choices: object[] } = present ? present(chunk) : chunk;
        if (includeUsage) written += write({ choices, usage: chunk.usage ?? null });
        else if (choices.length > 0) written += write({ choices });
      }
      yield written;
    }
  } catch (error) {
    throw mapError(error);
  }
  yield lastEvent;
}
