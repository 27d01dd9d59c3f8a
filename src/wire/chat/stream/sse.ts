import type { CompletionChunk } from '../../completions/completions.ts';
import type { ChatChunk } from '../chat.ts';

/** The events of chat (wire-formats.md, section 1a). Text completions are streamed in the same way. */
type AnyChunk = ChatChunk | CompletionChunk;

/**
 * Makes the events of one stream. What all of its chunks say alike is made into JSON once.
 * @returns the event of a chunk; without usage where that is absent
 */
export function chatEventWriter({
  id,
  object,
  created,
  model,
}: Pick<AnyChunk, 'id' | 'object' | 'created' | 'model'>): (
  chunk: { choices: object[] } & Pick<AnyChunk, 'usage'>,
) => string {
  const head = JSON.stringify({ id, object, created, model }).slice(0, -1);
  return ({ choices, usage }) => {
    const tail = usage === undefined ? '' : `,"usage":${JSON.stringify(usage)}`;
    return `data: ${head},"choices":${JSON.stringify(choices)}${tail}}\n\n`;
  };
}

/** Ends a stream that said everything. */
export const chatDone = 'data: [DONE]\n\n';
