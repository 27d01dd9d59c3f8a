import { lineKey } from '../../../../core/request-group.ts';
import type { Queries } from '../../../db.ts';
import { unpackLines } from '../../rows.ts';
import { paddedSlices, typedTuples } from '../../statement.ts';

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
    for (const row of rows) recorded.add(lineKey({ batchId: row.batch_id, line: row.line }));
  }
  return recorded;
}

/** Lines of leased chunks that have no result. */
export async function linesInFlight(q: Queries, batchId: string): Promise<number[]> {
  const leased = await q.all<{ lines: string }>(
    `SELECT lines FROM batch_chunks WHERE batch_id = ? AND state = 'leased'`,
    [batchId],
  );
  const lines = leased.flatMap((row) => unpackLines(row.lines).map(({ line }) => ({ batchId, line })));
  const recorded = await recordedLines(q, lines);
  return lines.map(({ line }) => line).filter((line) => !recorded.has(lineKey({ batchId, line })));
}
