import type { Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import type { ChunkLines } from './chunk-lines.ts';

/** Of all chunks in hand together; what is beyond is read line by line as it is sent. */
const maxBytes = 16 * 1024 * 1024;

/** Lines of one chunk that will be asked for. */
export interface ReadAheadChunk {
  blob: string;
  lines: ChunkLines;
  refs: readonly LineRef[];
}

/**
 * Reads the lines of chunks that came into hand together, so that sending one waits for no disk. Chunks of one batch are cut by
 * their prompts and not by their places: lines of several stand next to each other, and are asked for together. What cannot be
 * read is left to whoever sends it, who reports it.
 * @param inHand what was in hand before
 */
export async function readAhead(
  blobs: Pick<Blobs, 'slices'>,
  chunks: readonly ReadAheadChunk[],
  inHand: Iterable<Pick<ReadAheadChunk, 'lines'>>,
): Promise<void> {
  let room = maxBytes;
  for (const { lines } of inHand) room -= lines.bytesAhead;
  const fitting = chunks.filter(({ refs }) => {
    const bytes = refs.reduce((sum, { length }) => sum + length, 0);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  const byBlob = Map.groupBy(fitting, ({ blob }) => blob);
  await Promise.all(
    [...byBlob].map(([blob, ofBlob]) => {
      const coming = readBlob(blobs, blob, ofBlob).catch(() => undefined);
      for (const { lines } of ofBlob) lines.expectAhead(coming);
      return coming;
    }),
  );
}

async function readBlob(
  blobs: Pick<Blobs, 'slices'>,
  blob: string,
  chunks: readonly ReadAheadChunk[],
): Promise<void> {
  // Those that wait for it may be done before it is there.
  const wanted = chunks.map(({ lines, refs }) => ({ lines, refs: [...refs] }));
  const read = await blobs.slices(
    blob,
    wanted.flatMap(({ refs }) => refs),
  );
  let at = 0;
  for (const { lines, refs } of wanted)
    lines.storeAhead(refs.map(({ line }) => ({ line, bytes: read[at++]! })));
}
