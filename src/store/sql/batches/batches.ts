import { type Batch, type Chunk, closeModel } from '../../../core/batch.ts';
import { searchText } from '../../../core/batch-search.ts';
import { isUsedUp as isSpent, utcMonth } from '../../../core/budget.ts';
import { familyOf } from '../../../core/key-family.ts';
import { instantOf } from '../../../core/urgency.ts';
import type { Db, Queries } from '../../db.ts';
import type {
  BatchState,
  BatchStore,
  CreateBatchOutcome,
  OpenBatch,
  OpenLines,
  RemovedBatch,
} from '../../contract/batches.ts';
import { isDisabled } from '../accounts/orgs.ts';
import type { StoredFile } from '../../../core/file.ts';
import type { FileByteLimits } from '../../contract/storage.ts';
import { exceededLimit, readStored } from '../storage.ts';
import { isUsedUp, spentBudgets } from '../accounts/spending.ts';
import { freezeAmounts } from '../accounts/usage-columns.ts';
import { claimToken, forgetResource } from '../idempotency.ts';
import { insertFiles, lockFile } from '../files.ts';
import { isBatch, requireRoom } from './queued-work.ts';
import { batches, batchStates, chunks, packLines } from '../rows.ts';
import { allIn, Rollback, withRollback } from '../statement.ts';
import { tableOf } from '../table.ts';

type BatchRows = Pick<
  BatchStore,
  | 'create'
  | 'get'
  | 'find'
  | 'list'
  | 'remove'
  | 'removedSince'
  | 'states'
  | 'listOpen'
  | 'listRunning'
  | 'openLines'
>;

/** Deleted batches are remembered so long for the streams of events, in milliseconds. */
const rememberMs = 600_000;
const deletedBatches = tableOf<RemovedBatch & { deletedAt: number }>('deleted_batches')('id orgId deletedAt');

/** Creates, reads and lists batches; `chunks.ts` and the folder `recording` change them. */
export function createBatchRows(db: Db): BatchRows {
  return {
    create: (batch, planned, options) =>
      withRollback(db, async (q) => {
        const { inlineFile, creation, limits, now, billedAt = now } = options;
        const claimed = creation && (await claimToken(q, batch.orgId, creation, batch.id, now));
        if (claimed && claimed.outcome !== 'ours') return claimed;
        if (options.replayOnly === true) throw new Rollback<CreateBatchOutcome>({ outcome: 'not_replayed' });
        // Serializes creates of an org, so that its limits are exact.
        await q.all(`SELECT id FROM orgs WHERE id = ? ${q.forUpdate}`, [batch.orgId]);
        const budgets = await spentBudgets(q, billedAt, batch);
        const budget = budgets.find((each) => each.hard !== false && isSpent(each));
        if (budget) throw new Rollback<CreateBatchOutcome>({ outcome: 'budget_used_up', budget });
        await requireRoom(q, batch, planned, limits);
        if (!inlineFile) await requireInput(q, batch, now);
        await requireStorage(q, batch, options);
        await batches.insert(q, [{ ...batch, search: searchText(batch) }]);
        await insertChunks(q, batch, planned, 'ready');
        await insertClosingChunk(q, batch);
        return { outcome: 'created' };
      }),

    get: (orgId, id) => batches.first(db, { id, orgId, [isBatch]: [] }),
    find: (id) => batches.first(db, { id }),

    remove: (orgId, id, now) =>
      db.tx(async (q) => {
        await freezeAmounts(q, db, orgId, id);
        const removed = await batches.remove(q, { id, orgId, purged: 1 });
        if (removed > 0) {
          await forgetResource(q, id);
          await q.all('DELETE FROM batch_histories WHERE batch_id = ?', [id]);
          await deletedBatches.remove(q, { 'deleted_at < ?': now - rememberMs });
          await deletedBatches.insert(q, [{ id, orgId, deletedAt: now }]);
        }
        return removed > 0;
      }),

    async removedSince(since) {
      const found = await deletedBatches.all(db, { 'deleted_at >= ?': since }, 'ORDER BY deleted_at, id');
      return found.map(({ id, orgId }) => ({ id, orgId }));
    },

    async list(orgId, { after, before, order, limit, endpoint, status, createdAfter }) {
      const isAscending = before !== undefined || order === 'asc';
      const where = {
        orgId,
        [isBatch]: [],
        'id < ?': isAscending ? undefined : after,
        'id > ?': before ?? (isAscending ? after : undefined),
        'endpoint = ?': endpoint,
        'status = ?': status,
        // Bounds the scan by id: ids follow creation, except for clocks that differ between machines.
        [`+created_at >= ? AND id >= (SELECT min(id) FROM (
          SELECT id FROM batches WHERE org_id = ? AND created_at >= ? ORDER BY created_at, id LIMIT 1000) AS first)`]:
          createdAfter === undefined ? undefined : [createdAfter, orgId, createdAfter],
      };
      const direction = isAscending ? 'ASC' : 'DESC';
      const found = await batches.all(db, where, `ORDER BY id ${direction} LIMIT ?`, [limit]);
      return before === undefined ? found : found.toReversed();
    },

    async states(ids, billedAt) {
      type Row = BatchState & { isBudgetUsedUp: number | boolean; isOrgDisabled: number | boolean };
      const rows = await allIn<Row>(
        db,
        ids,
        (list) =>
          `SELECT ${batchStates.fields}, (${isUsedUp('batches.org_id')}
             OR ${isUsedUp('batches.key_id', 'api_keys')}) AS "isBudgetUsedUp",
             ${isDisabled('batches.org_id')} AS "isOrgDisabled"
           FROM batches WHERE id IN ${list}`,
        (list) => [utcMonth(billedAt), utcMonth(billedAt), ...list],
      );
      return rows.map((row) => ({
        ...row,
        isBudgetUsedUp: Boolean(row.isBudgetUsedUp),
        isOrgDisabled: Boolean(row.isOrgDisabled),
      }));
    },

    listOpen(limit, after) {
      const where = { [undecided]: [], '(expires_at, id) > (?, ?)': after && [after.expiresAt, after.id] };
      return openBatches.all(db, where, 'ORDER BY expires_at, id LIMIT ?', [limit]);
    },

    listRunning: (limit, after) =>
      openBatches.all(db, { [running]: [], 'id > ?': after }, 'ORDER BY id LIMIT ?', [limit]),

    openLines: (ids) =>
      allIn<OpenLines>(
        db,
        ids,
        (list) =>
          `SELECT batch_id AS "batchId", model, CAST(sum(n) AS bigint) AS requests, CAST(sum(est) AS bigint) AS tokens FROM batch_chunks
           WHERE batch_id IN ${list} AND seq > 0 AND state IN ('ready', 'leased') GROUP BY batch_id, model`,
      ),
  };
}

/** SQL: batches without a decided end, spelled as in the partial index `batches_by_expiry`. */
export const undecided = "status IN ('validating', 'in_progress') AND closing IS NULL";

/** SQL: batches in progress without a decided end, spelled as in the partial index `batches_running`. */
export const running = "status = 'in_progress' AND closing IS NULL";

const openBatches = tableOf<OpenBatch>('batches')(
  'id orgId keyId keyFamily model due total ok err est createdAt inProgressAt expiresAt pausedAt pausedMs atRiskAt',
);

/** Locks a batch row. Every writer of chunks or results does so first. */
export function lockBatch(q: Queries, id: string): Promise<BatchState | undefined> {
  return batchStates.first(q, { id }, q.forUpdate);
}

/** Stores the inline file. Results come on top, so a batch needs some room even without one. */
async function requireStorage(
  q: Queries,
  batch: Batch,
  { inlineFile, storage = {} }: { inlineFile?: StoredFile; storage?: FileByteLimits },
): Promise<void> {
  const owner = { orgId: batch.orgId, keyId: familyOf(batch) };
  const stored = inlineFile ? await insertFiles(q, [inlineFile]) : await readStored(q, Object.values(owner));
  const quota = exceededLimit(stored, owner, storage, !inlineFile);
  if (quota) throw new Rollback<CreateBatchOutcome>({ outcome: 'too_much_stored', quota });
}

async function requireInput(q: Queries, batch: Batch, now: number): Promise<void> {
  const file = await lockFile(q, batch.orgId, batch.inputFileId, now);
  if (file?.purpose !== 'batch') throw new Rollback<CreateBatchOutcome>({ outcome: 'input_missing' });
}

export async function insertChunks(
  q: Queries,
  { orgId, due }: Pick<Batch, 'orgId' | 'due'>,
  made: readonly Chunk[],
  state: 'ready' | 'held',
): Promise<void> {
  const own = { orgId, due, state };
  await chunks.insert(
    q,
    made.map((chunk) => ({ ...chunk, ...own, n: chunk.lines.length, lines: packLines(chunk.lines) })),
  );
}

/** Inserts the chunk that closes the batch. Batches of all orgs are closed in one order, in which priorities do not count. */
export async function insertClosingChunk(q: Queries, { id, orgId, due }: Batch): Promise<void> {
  await insertChunks(q, { orgId, due: instantOf(due) }, [{ ...closingChunk, batchId: id }], 'held');
}

const closingChunk = { seq: 0, model: closeModel, prefix: '', lines: [], est: 0, epoch: 0, kills: 0 };
