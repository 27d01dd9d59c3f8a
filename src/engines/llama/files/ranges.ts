/** Bytes from `start` to before `end`. */
export interface Range {
  start: number;
  end: number;
}

/** Union of ranges and one more: in order, without overlap, not touching. */
export function addRange(ranges: readonly Range[], added: Range): Range[] {
  if (added.end <= added.start) return [...ranges];
  const before = ranges.filter(({ end }) => end < added.start);
  const after = ranges.filter(({ start }) => start > added.end);
  const joined = ranges.filter(({ start, end }) => end >= added.start && start <= added.end);
  const start = Math.min(added.start, ...joined.map((range) => range.start));
  const end = Math.max(added.end, ...joined.map((range) => range.end));
  return [...before, { start, end }, ...after];
}

export function bytesIn(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Gaps between ordered ranges up to `size`, in pieces of at most `pieceBytes`. */
export function missingPieces(ranges: readonly Range[], size: number, pieceBytes: number): Range[] {
  const pieces: Range[] = [];
  let at = 0;
  for (const { start, end } of [...ranges, { start: size, end: size }]) {
    for (; at < start; at = Math.min(at + pieceBytes, start))
      pieces.push({ start: at, end: Math.min(at + pieceBytes, start) });
    at = end;
  }
  return pieces;
}
