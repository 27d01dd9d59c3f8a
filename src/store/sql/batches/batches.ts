import { closeModel } from '../../../core/batch.ts';
import { utcMonth } from '../../../core/budget.ts';
import type { Batch, Chunk } from '../../../core/batch.ts';
import type { StoredFile } from '../../../core/file.ts';
import type { Db, Queries, Value } from '../../db.ts';
import type {
  BatchState,
  BatchStore,
  CreateBatchOutcome,
  OpenBatch,
  WatchedBatch,
} from '../../contract/batches.ts';
import { isUsedUp, spentBudgets } from '../accounts/spending.ts';
import { claimToken, forgetResource } from '../creates.ts';
import { insertFile, lockFile } from '../files.ts';
import { columnsOf } from '../columns.ts';
import { batchColumns as columns, packLines } from '../rows.ts';
import { inLists, slices, tuples, Undo, undoable } from '../statement.ts';

type BatchRows = Pick<
  BatchStore,
  'create' | 'get' | 'find' | 'list' | 'remove' | 'states' | 'open' | 'ahead'
>;

/** Batches as rows: made, read, listed. What moves them stands in `chunks.ts`, `record.ts` and `ending.ts`. */
export function createBatchRows(db: Db): BatchRows {
  return {
    create: (batch, chunks, options) =>
      undoable(db, async (q) => {
        const { inlineFile, creation, maxOpen, now } = options;
        const claimed = creation && (await claimToken(q, batch.orgId, creation, batch.id, now));
        if (claimed && claimed.outcome !== 'ours') return claimed;
        await lockOrg(q, batch.orgId);
        const [budget] = await spentBudgets(q, now, batch.orgId);
        if (budget && budget.spent >= budget.amount)
          throw new Undo<CreateBatchOutcome>({ outcome: 'budget_used_up', budget });
        if ((await countOpen(q, batch.orgId)) >= maxOpen)
          throw new Undo<CreateBatchOutcome>({ outcome: 'too_many_open' });
        if (inlineFile) await insertFile(q, inlineFile);
        else await requireInput(q, batch, now);
        await insertBatch(q, batch);
        await insertChunks(q, batch, chunks, 'ready');
        await insertChunks(q, batch, [closingChunk(batch.id)], 'held');
        return { outcome: 'created' };
      }),

    async get(orgId, id) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM batches WHERE id = ? AND org_id = ?`, [
        id,
        orgId,
      ]);
      return row && columns.read(row);
    },

    async find(id) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM batches WHERE id = ?`, [id]);
      return row && columns.read(row);
    },

    remove: (orgId, id) =>
      db.tx(async (q) => {
        const removed = await q.all(
          'DELETE FROM batches WHERE id = ? AND org_id = ? AND purged = 1 RETURNING id',
          [id, orgId],
        );
        if (removed.length > 0) await forgetResource(q, id);
        return removed.length > 0;
      }),

    async list(orgId, { after, before, limit, endpoint, status, createdAfter }) {
      const where = ['org_id = ?'];
      const params: Value[] = [orgId];
      if (after !== undefined) {
        where.push('id < ?');
        params.push(after);
      }
      if (before !== undefined) {
        where.push('id > ?');
        params.push(before);
      }
      for (const [column, value] of [
        ['endpoint', endpoint],
        ['status', status],
      ] as const)
        if (value !== undefined) {
          where.push(`${column} = ?`);
          params.push(value);
        }
      if (createdAfter !== undefined) {
        // A walk by id ends at the least id of those made first since then: ids follow creation but for clocks that differ.
        where.push(`+created_at >= ? AND id >= (SELECT min(id) FROM (
          SELECT id FROM batches WHERE org_id = ? AND created_at >= ? ORDER BY created_at, id LIMIT 1000) AS first)`);
        params.push(createdAfter, orgId, createdAfter);
      }
      const rows = await db.all(
        `SELECT ${columns.fields} FROM batches WHERE ${where.join(' AND ')} ORDER BY id ${before === undefined ? 'DESC' : 'ASC'} LIMIT ?`,
        [...params, limit],
      );
      const found = rows.map(columns.read);
      return before === undefined ? found : found.toReversed();
    },

    async states(ids, now) {
      const found: WatchedBatch[] = [];
      for (const { sql, params } of inLists(ids)) {
        const rows = await db.all<BatchState & { isBudgetUsedUp: number | boolean }>(
          `SELECT ${stateColumns.fields}, ${isUsedUp('batches.org_id')} AS "isBudgetUsedUp" FROM batches WHERE id IN ${sql}`,
          [utcMonth(now), ...params],
        );
        for (const row of rows) found.push({ ...row, isBudgetUsedUp: Boolean(row.isBudgetUsedUp) });
      }
      return found;
    },

    async open(limit) {
      const rows = await db.all(
        `SELECT ${openColumns.fields} FROM batches
         WHERE status IN ('validating', 'in_progress') AND closing IS NULL ORDER BY due, id LIMIT ?`,
        [limit],
      );
      return rows.map(openColumns.read);
    },

    async ahead({ id, orgId, due }, models) {
      const [list] = inLists(models);
      if (!list) return 0;
      const [row] = await db.all<{ ahead: number }>(
        `SELECT count(*) AS ahead FROM batches b
         WHERE org_id = ? AND ${open} AND closing IS NULL AND paused_at IS NULL AND (due < ? OR due = ? AND id < ?)
           AND (model IN ${list.sql} OR model IS NULL AND EXISTS (
             SELECT 1 FROM batch_chunks c WHERE c.batch_id = b.id AND c.state <> 'done' AND c.model IN ${list.sql}))`,
        [orgId, due, due, id, ...list.params, ...list.params],
      );
      return row!.ahead;
    },
  };
}

/** Batches that are not finished. */
const open = "status IN ('validating', 'in_progress', 'cancelling')";

const stateColumns = columnsOf<BatchState>()(
  'id orgId status closing due pausedAt acceptUntil expiresAt total ok err',
);

const openColumns = columnsOf<OpenBatch>()(
  'id orgId model due total ok err createdAt inProgressAt expiresAt pausedAt pausedMs atRiskAt',
);

/** The batch as it is, kept so until the transaction ends. Whoever writes chunks or results locks it first. */
export async function lockBatch(q: Queries, id: string): Promise<BatchState | undefined> {
  const [row] = await q.all(`SELECT ${stateColumns.fields} FROM batches WHERE id = ? ${q.lock}`, [id]);
  return row && stateColumns.read(row);
}

/** Several at once, in one order for all who do so. */
export async function lockBatches(q: Queries, ids: readonly string[]): Promise<BatchState[]> {
  const locked: BatchState[] = [];
  for (const { sql, params } of inLists(ids)) {
    const rows = await q.all(
      `SELECT ${stateColumns.fields} FROM batches WHERE id IN ${sql} ORDER BY id ${q.lock}`,
      params,
    );
    locked.push(...rows.map(stateColumns.read));
  }
  return locked;
}

/** Creates of one org come one after the other, so that the count of its open batches is exact. */
async function lockOrg(q: Queries, orgId: string): Promise<void> {
  await q.all(`SELECT id FROM orgs WHERE id = ? ${q.lock}`, [orgId]);
}

async function countOpen(q: Queries, orgId: string): Promise<number> {
  const [row] = await q.all<{ open: number }>(
    `SELECT count(*) AS open FROM batches WHERE org_id = ? AND ${open}`,
    [orgId],
  );
  return row!.open;
}

async function requireInput(q: Queries, batch: Batch, now: number): Promise<StoredFile> {
  const file = await lockFile(q, batch.orgId, batch.inputFileId, now);
  if (file?.purpose !== 'batch') throw new Undo<CreateBatchOutcome>({ outcome: 'input_missing' });
  return file;
}

async function insertBatch(q: Queries, batch: Batch): Promise<void> {
  await q.all(
    `INSERT INTO batches (${columns.names}) VALUES ${tuples(1, columns.count)}`,
    columns.values(batch),
  );
}

export async function insertChunks(
  q: Queries,
  { orgId, due }: Pick<Batch, 'orgId' | 'due'>,
  chunks: readonly Chunk[],
  state: 'ready' | 'held',
): Promise<void> {
  for (const slice of slices(chunks))
    await q.all(
      `INSERT INTO batch_chunks (batch_id, seq, model, org_id, due, n, prefix, lines, est, state, epoch, kills)
       VALUES ${tuples(slice.length, 12)}`,
      slice.flatMap((chunk) => [
        chunk.batchId,
        chunk.seq,
        chunk.model,
        orgId,
        due,
        chunk.lines.length,
        chunk.prefix,
        packLines(chunk.lines),
        chunk.est,
        state,
        chunk.epoch,
        chunk.kills,
      ]),
    );
}

function closingChunk(batchId: string): Chunk {
  return { batchId, seq: 0, model: closeModel, prefix: '', lines: [], est: 0, epoch: 0, kills: 0 };
}
