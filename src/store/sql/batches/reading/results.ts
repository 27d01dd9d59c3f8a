import { isFinal } from '../../../../core/batch.ts';
import type { Db, Queries } from '../../../db.ts';
import { isGroup } from '../../../../core/request-group.ts';
import type { LineRun } from '../../../../core/line.ts';
import type { ResultRow, ResultStore } from '../../../contract/results.ts';
import { lockBatch } from '../batches.ts';
import { errorSummaryOf } from '../recording/error-summary.ts';
import { linesInFlight } from '../recording/recorded-lines.ts';
import { allIn } from '../../statement.ts';

type Reading = Pick<
  ResultStore,
  'missing' | 'tail' | 'marks' | 'ofLines' | 'inFlight' | 'errorSummary' | 'leftovers' | 'purge'
>;

/** Columns of a result, as stored. */
export type StoredOutcome = Omit<ResultRow, 'n' | 'run'> & { run: string | null };

export const outcomeFields =
  'line, code, model, input_tokens AS "inputTokens", cached_tokens AS "cachedTokens", output_tokens AS "outputTokens", attempts, run, body';

/** Reads results, and purges them once files hold them. */
export function createResults(db: Db): Reading {
  return {
    async missing(batchId, from, limit) {
      const rows = await db.all<{ line: number }>(
        `WITH RECURSIVE counted(line, total) AS (
           SELECT CAST(? AS integer), total FROM batches WHERE id = ? AND total > ?
           UNION ALL SELECT line + 1, total FROM counted WHERE line + 1 < total)
         SELECT c.line FROM counted c
         WHERE (SELECT 1 FROM batch_results r WHERE r.batch_id = ? AND r.line = c.line) IS NULL
         ORDER BY c.line LIMIT ?`,
        [from, batchId, from, batchId, limit],
      );
      return rows.map((row) => row.line);
    },

    // Lengths alone decide what fits, so other bodies are not read. The CAST keeps SQLite from recompiling at every run because of
    // the partial index on one stream.
    async tail(batchId, stream, after, { rows, bytes }) {
      const found = await db.all<StoredOutcome & { n: number }>(
        `SELECT n, ${outcomeFields} FROM batch_results WHERE batch_id = ? AND stream = CAST(? AS text) AND n > ? AND n <= (
           SELECT max(n) FROM (
             SELECT n, sum(size) OVER (ORDER BY n) - size AS before FROM (
               SELECT n, length(body) AS size FROM batch_results
               WHERE batch_id = ? AND stream = CAST(? AS text) AND n > ? ORDER BY n LIMIT ?) AS sizes) AS page
           WHERE before < ?)
         ORDER BY n`,
        [batchId, stream, after, batchId, stream, after, rows, bytes],
      );
      return found.map(withRun);
    },

    marks: (batchId, from, to) =>
      db.all(
        'SELECT line, code, length(body) AS bytes FROM batch_results WHERE batch_id = ? AND line >= ? AND line < ? ORDER BY line',
        [batchId, from, to],
      ),

    async ofLines(batchId, lines) {
      const found = await allIn<StoredOutcome>(
        db,
        lines,
        (list) => `SELECT ${outcomeFields} FROM batch_results WHERE batch_id = ? AND line IN ${list}`,
        (list) => [batchId, ...list],
      );
      return found.map(withRun);
    },

    inFlight: (batchId) => linesInFlight(db, batchId),

    errorSummary: (batchId) => errorSummaryOf(db, batchId),

    async leftovers(limit) {
      const rows = await db.all<{ id: string }>(
        `SELECT id FROM batches
         WHERE purged = 0 AND status IN ('completed', 'failed', 'cancelled', 'expired') ORDER BY id LIMIT ?`,
        [limit],
      );
      return rows.map((row) => row.id);
    },

    purge: (batchId, limit) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, batchId);
        if (!batch) return true;
        if (!isFinal(batch.status))
          throw new Error(`Batch ${batchId} is ${batch.status}: its results are still needed.`);
        // Those of single requests are kept for requests that repeat them.
        const results = isGroup(batchId)
          ? await deleteBodies(q, batchId, limit)
          : await deleteResults(q, batchId, limit);
        const chunks = results < limit ? await deleteChunks(q, batchId, limit - results) : 0;
        if (results + chunks === limit) return false;
        await q.all('UPDATE batches SET purged = 1 WHERE id = ?', [batchId]);
        return true;
      }),
  };
}

export function withRun<T extends StoredOutcome>(row: T): Omit<T, 'run'> & Pick<ResultRow, 'run'> {
  return { ...row, run: row.run === null ? null : (JSON.parse(row.run) as LineRun) };
}

async function deleteResults(q: Queries, batchId: string, limit: number): Promise<number> {
  const deleted = await q.all(
    `DELETE FROM batch_results WHERE batch_id = ? AND (stream, n) <= (
       SELECT stream, n FROM (
         SELECT stream, n FROM batch_results WHERE batch_id = ? ORDER BY stream, n LIMIT ?) AS front
       ORDER BY stream DESC, n DESC LIMIT 1) RETURNING n`,
    [batchId, batchId, limit],
  );
  return deleted.length;
}

async function deleteBodies(q: Queries, groupId: string, limit: number): Promise<number> {
  const deleted = await q.all(
    `DELETE FROM request_bodies WHERE batch_id = ? AND line IN (
       SELECT line FROM request_bodies WHERE batch_id = ? ORDER BY line LIMIT ?) RETURNING line`,
    [groupId, groupId, limit],
  );
  return deleted.length;
}

async function deleteChunks(q: Queries, batchId: string, limit: number): Promise<number> {
  const deleted = await q.all(
    `DELETE FROM batch_chunks WHERE batch_id = ? AND seq <= (
       SELECT max(seq) FROM (
         SELECT seq FROM batch_chunks WHERE batch_id = ? ORDER BY seq LIMIT ?) AS front) RETURNING seq`,
    [batchId, batchId, limit],
  );
  return deleted.length;
}
