import type { Lease } from '../../store/contract/claim.ts';
import type { LineResult } from '../../store/contract/results.ts';

/** What one transaction records: results, and chunks that are finished with them. */
export interface ResultGroup {
  rows: LineResult[];
  finished: Lease[];
}

/**
 * Two groups that come to the same when they are recorded one after the other: a chunk is finished with the last of its
 * batch's rows or after it. Undefined for a group that cannot be divided.
 */
export function halves({ rows, finished }: ResultGroup): [ResultGroup, ResultGroup] | undefined {
  const ids = [...new Set([...rows, ...finished].map(({ batchId }) => batchId))];
  if (ids.length > 1) {
    const first = new Set(ids.slice(0, ids.length >> 1));
    const part = (isFirst: boolean): ResultGroup => ({
      rows: rows.filter(({ batchId }) => first.has(batchId) === isFirst),
      finished: finished.filter(({ batchId }) => first.has(batchId) === isFirst),
    });
    return [part(true), part(false)];
  }
  if (rows.length > 1) {
    const middle = rows.length >> 1;
    return [
      { rows: rows.slice(0, middle), finished: [] },
      { rows: rows.slice(middle), finished },
    ];
  }
  if (rows.length + finished.length < 2) return undefined;
  // At most one row, and chunks.
  const middle = rows.length === 1 ? 0 : finished.length >> 1;
  return [
    { rows, finished: finished.slice(0, middle) },
    { rows: [], finished: finished.slice(middle) },
  ];
}
