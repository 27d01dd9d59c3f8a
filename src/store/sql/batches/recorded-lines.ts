import type { Queries } from '../../db.ts';
import { paddedSlices, typedTuples } from '../statement.ts';

/** Key of a line of a batch. */
export function lineKey(batchId: string, line: number): string {
  return `${batchId}/${line}`;
}

/** Keys of the lines that have a result. */
export async function recordedLines(
  q: Queries,
  lines: readonly { batchId: string; line: number }[],
): Promise<Set<string>> {
  const recorded = new Set<string>();
  for (const slice of paddedSlices(lines, 256)) {
    const rows = await q.all<{ batch_id: string; line: number }>(
      `WITH asked(batch_id, line) AS (VALUES ${typedTuples(slice.length, ['text', 'integer'])})
       SELECT batch_id, line FROM asked
       WHERE (SELECT 1 FROM batch_results r WHERE r.batch_id = asked.batch_id AND r.line = asked.line) = 1`,
      slice.flatMap(({ batchId, line }) => [batchId, line]),
    );
    for (const row of rows) recorded.add(lineKey(row.batch_id, row.line));
  }
  return recorded;
}
