import type { ByteRange } from './blobs.ts';

const longestRead = 1024 * 1024;

interface Run extends ByteRange {
  places: { at: number; place: ByteRange }[];
}

/**
 * Many places of a blob in as few reads as are worth it; in the order asked for.
 * @param gapBytes places closer than this are one read: another one costs more than reading so much for nothing
 * @param get exactly these bytes
 */
export async function readRanges(
  places: readonly ByteRange[],
  gapBytes: number,
  get: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<Uint8Array[]> {
  const found = places.map((): Uint8Array => new Uint8Array());
  const handOut = async (run: Run) => {
    const bytes = await get(run.offset, run.length);
    const size = run.places.reduce((sum, { place }) => sum + place.length, 0);
    // What is read together stays together in memory; what stood between does not, where it is more.
    const isKept = size > bytes.length / 2;
    const kept = isKept ? bytes : new Uint8Array(size);
    let next = 0;
    for (const { at, place } of run.places) {
      const from = place.offset - run.offset;
      if (isKept) next = from;
      else kept.set(bytes.subarray(from, from + place.length), next);
      found[at] = kept.subarray(next, next + place.length);
      next += place.length;
    }
  };
  await Promise.all(runsOf(places, gapBytes).map(handOut));
  return found;
}

function runsOf(places: readonly ByteRange[], gapBytes: number): Run[] {
  const sorted = places
    .map((place, at) => ({ at, place }))
    .filter(({ place }) => place.length > 0)
    .toSorted((a, b) => a.place.offset - b.place.offset);
  const runs: Run[] = [];
  for (const each of sorted) {
    const { offset, length } = each.place;
    const run = runs.at(-1);
    const joined = run && Math.max(run.length, offset + length - run.offset);
    if (run && joined! <= longestRead && offset - run.offset - run.length < gapBytes) {
      run.length = joined!;
      run.places.push(each);
    } else runs.push({ offset, length, places: [each] });
  }
  return runs;
}
