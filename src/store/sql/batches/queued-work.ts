import { type Chunk, closeModel, type Batch } from '../../../core/batch.ts';
import { familyOf } from '../../../core/key-family.ts';
import type { CallerLimits } from '../../../core/limits.ts';
import { isGroup } from '../../../core/request-group.ts';
import { sum } from '../../../base/sum.ts';
import { fits, noWork, type QueuedWork, queueLimits } from '../../../core/queue-limits.ts';
import type { BatchStore, CreateBatchOutcome, QueuedByOwner } from '../../contract/batches.ts';
import type { Db, Queries } from '../../db.ts';
import { allIn, Rollback } from '../statement.ts';

/** SQL: family of the key of a batch, spelled as in the index `batches_open_by_family`. */
const familyColumn = 'COALESCE(key_family, key_id)';

/** SQL: unfinished batches. */
export const open = "status IN ('validating', 'in_progress', 'cancelling')";

/** SQL: batches without the groups of single requests, whose ids come after. */
export const isBatch = "id < 'batch~'";

export function createQueuedWork(db: Db): Pick<BatchStore, 'queued'> {
  return { queued: (orgId, family) => queuedWork(db, orgId, family) };
}

/** Throws a rollback unless the batch fits the limits. Creates of an org are serialized by the lock on its row. */
export async function requireRoom(
  q: Queries,
  batch: Batch,
  planned: readonly Chunk[],
  limits: CallerLimits,
): Promise<void> {
  const used = needsWork(limits)
    ? await queuedWork(q, batch.orgId, familyOf(batch))
    : { org: { ...noWork, batches: await countOpen(q, batch.orgId) }, key: noWork };
  const exceeded = queueLimits(limits, used, plannedWork(batch, planned)).filter((limit) => !fits(limit));
  if (exceeded.length > 0) throw new Rollback<CreateBatchOutcome>({ outcome: 'limit_exceeded', exceeded });
}

/** False where the number of open batches of the org decides alone, which an index has. */
function needsWork({ org, key }: CallerLimits): boolean {
  return [org.queuedRequests, org.queuedTokens, key.openBatches, key.queuedRequests, key.queuedTokens].some(
    (limit) => limit !== undefined,
  );
}

async function countOpen(q: Queries, orgId: string): Promise<number> {
  const [row] = await q.all<{ open: number }>(
    `SELECT count(*) AS open FROM batches WHERE org_id = ? AND ${open} AND ${isBatch}`,
    [orgId],
  );
  return row!.open;
}

/** Work that a new batch or group adds. */
export function plannedWork(
  { id, total }: Pick<Batch, 'id' | 'total'>,
  planned: readonly Chunk[],
): QueuedWork {
  const tokens: Record<string, number> = Object.create(null);
  for (const { model, est } of planned) tokens[model] = (tokens[model] ?? 0) + est;
  return { batches: isGroup(id) ? 0 : 1, requests: total, tokens };
}

interface WorkRow {
  /** Family of the keys of the batches. */
  family: string;
  /** Null for batches of several models. */
  model: string | null;
  batches: number;
  requests: number;
  tokens: number;
}

/**
 * Unfinished work of an org and of a family of its keys. The tokens of a batch of one model count in proportion to its requests without
 * a result; those of several models until their chunk is finished.
 * After the window of the batch a chunk may end without results; its requests count until a process notes, within a second, that the
 * batch has expired.
 */
async function queuedWork(q: Queries, orgId: string, family: string): Promise<QueuedByOwner> {
  const ofOpen = (expression: string) =>
    `CAST(sum(CASE WHEN closing IS NULL THEN ${expression} ELSE 0 END) AS bigint)`;
  const rows = await q.all<WorkRow>(
    `SELECT ${familyColumn} AS family, model, CAST(sum(CASE WHEN ${isBatch} THEN 1 ELSE 0 END) AS bigint) AS batches,
       ${ofOpen('total - ok - err')} AS requests,
       ${ofOpen('(est * (total - ok - err) + total - 1) / total')} AS tokens
     FROM batches WHERE org_id = ? AND ${open} GROUP BY ${familyColumn}, model`,
    [orgId],
  );
  const mixed = rows.some(({ model, requests }) => model === null && requests > 0);
  const several = mixed ? await ofSeveralModels(q, orgId) : [];
  const tokens = [...rows.filter(({ model }) => model !== null), ...several];
  const workOf = (isOwn: (row: { family: string }) => boolean): QueuedWork => {
    const own = rows.filter(isOwn);
    const byModel = Object.groupBy(tokens.filter(isOwn), ({ model }) => model!);
    return {
      batches: sum(own.map(({ batches }) => batches)),
      requests: sum(own.map(({ requests }) => requests)),
      tokens: Object.fromEntries(
        Object.entries(byModel).map(([model, all]) => [model, sum(all!.map((row) => row.tokens))]),
      ),
    };
  };
  return { org: workOf(() => true), key: workOf((row) => row.family === family) };
}

/** Estimated tokens of the unfinished chunks of batches of several models. */
async function ofSeveralModels(
  q: Queries,
  orgId: string,
): Promise<Pick<WorkRow, 'family' | 'model' | 'tokens'>[]> {
  const batches = await q.all<{ id: string; family: string }>(
    `SELECT id, ${familyColumn} AS family FROM batches WHERE org_id = ? AND ${open} AND closing IS NULL AND model IS NULL`,
    [orgId],
  );
  const families = new Map(batches.map(({ id, family }) => [id, family]));
  const chunks = await allIn<{ batchId: string; model: string; tokens: number }>(
    q,
    [...families.keys()],
    (list) =>
      `SELECT batch_id AS "batchId", model, CAST(sum(est) AS bigint) AS tokens FROM batch_chunks
       WHERE batch_id IN ${list} AND state <> 'done' AND model <> '${closeModel}' GROUP BY batch_id, model`,
  );
  return chunks.map(({ batchId, model, tokens }) => ({ family: families.get(batchId)!, model, tokens }));
}
