import type { Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import type { ChunkLines } from './lines.ts';

/** Of all chunks in hand together; what is beyond is read line by line as it is sent. */
const mostBytes = 16 * 1024 * 1024;
/** Lines closer than this are fetched in one read: another one costs more than reading so much for nothing. */
const gapBytes = 16 * 1024;
const longestRead = 1024 * 1024;

/** Lines of one chunk that will be asked for. */
export interface Upcoming {
  blob: string;
  lines: ChunkLines;
  refs: readonly LineRef[];
}

interface Wanted {
  lines: ChunkLines;
  ref: LineRef;
}

/**
 * Reads the lines of chunks that came into hand together, so that sending one waits for no disk. Chunks of one batch are cut by
 * their prompts and not by their places: lines of several stand next to each other. What cannot be read is left to whoever
 * sends it, who reports it.
 * @param inHand what was in hand before
 */
export async function readAhead(
  blobs: Pick<Blobs, 'slices'>,
  chunks: readonly Upcoming[],
  inHand: Iterable<Pick<Upcoming, 'lines'>>,
): Promise<void> {
  let room = mostBytes;
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
      for (const { lines } of ofBlob) lines.expect(coming);
      return coming;
    }),
  );
}

async function readBlob(
  blobs: Pick<Blobs, 'slices'>,
  blob: string,
  chunks: readonly Upcoming[],
): Promise<void> {
  const wanted = chunks.flatMap(({ lines, refs }) => refs.map((ref) => ({ lines, ref })));
  const runs = neighbours(wanted.toSorted((a, b) => a.ref.offset - b.ref.offset));
  const read = await blobs.slices(
    blob,
    runs.map((run) => ({ offset: run[0]!.ref.offset, length: endOf(run) - run[0]!.ref.offset })),
  );
  for (const [at, run] of runs.entries()) handOut(run, read[at]!);
}

/** Lines of one read stay together in memory; what stood between them does not. */
function handOut(run: readonly Wanted[], bytes: Uint8Array): void {
  const start = run[0]!.ref.offset;
  const size = run.reduce((sum, { ref }) => sum + ref.length, 0);
  const isWhole = size > bytes.length / 2;
  const kept = isWhole ? bytes : new Uint8Array(size);
  let at = 0;
  for (const { lines, ref } of run) {
    const from = ref.offset - start;
    if (isWhole) at = from;
    else kept.set(bytes.subarray(from, from + ref.length), at);
    lines.keep(ref.line, kept.subarray(at, at + ref.length));
    at += ref.length;
  }
}

function neighbours(sorted: readonly Wanted[]): Wanted[][] {
  const runs: Wanted[][] = [];
  for (const each of sorted) {
    const run = runs.at(-1);
    const { offset, length } = each.ref;
    if (run && offset - endOf(run) < gapBytes && offset + length - run[0]!.ref.offset <= longestRead)
      run.push(each);
    else runs.push([each]);
  }
  return runs;
}

function endOf(run: readonly Wanted[]): number {
  const { offset, length } = run.at(-1)!.ref;
  return offset + length;
}
