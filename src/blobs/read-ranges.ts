import type { ByteRange } from './blobs.ts';

const maxReadBytes = 1024 * 1024;

interface MergedRead extends ByteRange {
  parts: { at: number; range: ByteRange }[];
}

/**
 * Reads many ranges of a blob with few reads, and returns them in the given order.
 * @param gapBytes ranges closer than this are read together, because the gap costs less than another read
 * @param get reads exactly `length` bytes
 */
export async function readRanges(
  ranges: readonly ByteRange[],
  gapBytes: number,
  get: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<Uint8Array[]> {
  const results = ranges.map((): Uint8Array => new Uint8Array());
  const readMerged = async ({ offset, length, parts }: MergedRead) => {
    const bytes = await get(offset, length);
    const size = parts.reduce((sum, { range }) => sum + range.length, 0);
    // Views on `bytes` keep the gaps in memory, so the ranges are copied out when the gaps are larger.
    const isShared = size > bytes.length / 2;
    const buffer = isShared ? bytes : new Uint8Array(size);
    let next = 0;
    for (const { at, range } of parts) {
      const from = range.offset - offset;
      if (isShared) next = from;
      else buffer.set(bytes.subarray(from, from + range.length), next);
      results[at] = buffer.subarray(next, next + range.length);
      next += range.length;
    }
  };
  await Promise.all(mergeRanges(ranges, gapBytes).map(readMerged));
  return results;
}

function mergeRanges(ranges: readonly ByteRange[], gapBytes: number): MergedRead[] {
  const sorted = ranges
    .map((range, at) => ({ at, range }))
    .filter(({ range }) => range.length > 0)
    .toSorted((a, b) => a.range.offset - b.range.offset);
  const reads: MergedRead[] = [];
  for (const part of sorted) {
    const { offset, length } = part.range;
    const read = reads.at(-1);
    const merged = read && Math.max(read.length, offset + length - read.offset);
    if (read && merged! <= maxReadBytes && offset - read.offset - read.length < gapBytes) {
      read.length = merged!;
      read.parts.push(part);
    } else reads.push({ offset, length, parts: [part] });
  }
  return reads;
}
