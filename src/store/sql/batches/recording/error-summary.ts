import { truncate } from '../../../../base/truncate.ts';
import type { Queries } from '../../../db.ts';
import type { ErrorSummary } from '../../../contract/results.ts';
import { allIn } from '../../statement.ts';

/** Listed codes, most frequent first. */
const maxCodes = 20;
/** Characters. */
const maxExample = 300;

/** Error summary as stored at the end of the batch, or computed from the results. */
export async function errorSummaryOf(q: Queries, batchId: string): Promise<ErrorSummary[]> {
  const [batch] = await q.all<{ err: number; error_summary: string | null }>(
    'SELECT err, error_summary FROM batches WHERE id = ?',
    [batchId],
  );
  if (!batch || batch.err === 0) return [];
  return batch.error_summary === null
    ? summarise(q, batchId)
    : (JSON.parse(batch.error_summary) as ErrorSummary[]);
}

/** Counts failed lines by code. */
export async function summarise(q: Queries, batchId: string): Promise<ErrorSummary[]> {
  const groups = await q.all<{ code: string | null; count: number; first: number }>(
    `SELECT code, count(*) AS count, min(n) AS first FROM batch_results
     WHERE batch_id = ? AND stream = 'errors' GROUP BY code ORDER BY count(*) DESC, min(n) LIMIT ?`,
    [batchId, maxCodes],
  );
  const examples = await exampleMessages(
    q,
    batchId,
    groups.map((group) => group.first),
  );
  return groups.map(({ code, count, first }) => ({
    code: code ?? 'unknown',
    count,
    example: examples.get(first) ?? '',
  }));
}

async function exampleMessages(q: Queries, batchId: string, places: number[]): Promise<Map<number, string>> {
  const text = (list: string) =>
    `SELECT n, body FROM batch_results WHERE batch_id = ? AND stream = 'errors' AND n IN ${list}`;
  const rows = await allIn<{ n: number; body: Uint8Array }>(q, places, text, (list) => [batchId, ...list]);
  return new Map(rows.map(({ n, body }) => [n, messageOf(body)]));
}

/** Message of an error line: Offpeak's, or that of the engine's answer. */
export function messageOf(body: Uint8Array): string {
  const line = parse(body) as
    | { error?: ErrorBody; response?: { body?: { error?: ErrorBody } } }
    | null
    | undefined;
  const message = line?.error?.message ?? line?.response?.body?.error?.message;
  return typeof message === 'string' ? truncate(message, maxExample) : '';
}

type ErrorBody = { message?: unknown } | null;

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
