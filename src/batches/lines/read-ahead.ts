import type { LineRef } from '../../core/batch.ts';
import type { ChunkLines } from './chunk-lines.ts';
import type { LineInput } from './line-input.ts';

/** Limit for all claimed chunks together; lines beyond it are read one by one as they are sent. */
const maxBytes = 16 * 1024 * 1024;

export interface ReadAheadChunk {
  lines: ChunkLines;
  refs: readonly LineRef[];
}

/**
 * Reads the lines of newly claimed chunks, so that sending a line does not wait for the disk. Chunks are cut by prompt prefix
 * and not by position: lines of several chunks are neighbours in the file, and are read together. A line that cannot be read
 * is read again, and reported, when it is sent.
 * @param claimed chunks claimed before
 */
export async function readAhead(
  chunks: readonly ReadAheadChunk[],
  claimed: Iterable<Pick<ReadAheadChunk, 'lines'>>,
): Promise<void> {
  let room = maxBytes;
  for (const { lines } of claimed) room -= lines.bytesAhead;
  const fitting = chunks.filter(({ refs }) => {
    const bytes = refs.reduce((sum, { length }) => sum + length, 0);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  const byInput = Map.groupBy(fitting, ({ lines }) => lines.input.name);
  await Promise.all(
    [...byInput.values()].map((ofInput) => {
      const pending = readInput(ofInput[0]!.lines.input, ofInput).catch(() => undefined);
      for (const { lines } of ofInput) lines.expectAhead(pending);
      return pending;
    }),
  );
}

async function readInput(input: LineInput, chunks: readonly ReadAheadChunk[]): Promise<void> {
  // `refs` is a queue of the caller's, which may shrink during the read.
  const wanted = chunks.map(({ lines, refs }) => ({ lines, refs: [...refs] }));
  const read = await input.read(wanted.flatMap(({ refs }) => refs));
  let at = 0;
  for (const { lines, refs } of wanted)
    lines.storeAhead(refs.map(({ line }) => ({ line, bytes: read[at++]! })));
}
