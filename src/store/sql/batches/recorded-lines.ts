import type { Queries } from '../../db.ts';
import { padded, typedTuples } from '../statement.ts';

/** A line of a batch. */
interface Line {
  batchId: string;
  line: number;
}

/** Lines of several batches. */
class Lines {
  #lines = new Set<string>();

  get size(): number {
    return this.#lines.size;
  }

  has(batchId: string, line: number): boolean {
    return this.#lines.has(`${batchId}/${line}`);
  }

  /** False when it is one of them already. */
  add(batchId: string, line: number): boolean {
    const before = this.#lines.size;
    return this.#lines.add(`${batchId}/${line}`).size > before;
  }
}

/** Those lines that have a result. */
export async function recordedLines(q: Queries, lines: readonly Line[]): Promise<Lines> {
  const recorded = new Lines();
  for (const slice of padded(lines, 256)) {
    const rows = await q.all<{ batch_id: string; line: number }>(
      `WITH asked(batch_id, line) AS (VALUES ${typedTuples(slice.length, ['text', 'integer'])})
       SELECT batch_id, line FROM asked
       WHERE (SELECT 1 FROM batch_results r WHERE r.batch_id = asked.batch_id AND r.line = asked.line) = 1`,
      slice.flatMap(({ batchId, line }) => [batchId, line]),
    );
    for (const row of rows) recorded.add(row.batch_id, row.line);
  }
  return recorded;
}
