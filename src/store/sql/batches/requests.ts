import type { Batch, Chunk } from '../../../core/batch.ts';
import { isUsedUp } from '../../../core/budget.ts';
import { lineRequestId, lineKey } from '../../../core/request-group.ts';
import { requestGroups } from '../../migrations/0018-request-groups.ts';
import type { Db, Queries } from '../../db.ts';
import type {
  CreateGroupOutcome,
  GroupedRequest,
  RequestResult,
  RequestStore,
} from '../../contract/requests.ts';
import { spentBudgets } from '../accounts/spending.ts';
import { claimTokens } from '../idempotency.ts';
import { insertResponses } from '../responses/responses.ts';
import { batches, batchStates } from '../rows.ts';
import { allIn, paddedSlices, Rollback, typedTuples, withRollback } from '../statement.ts';
import { addStored } from '../storage.ts';
import { tableOf } from '../table.ts';
import { lifeMs } from '../workers/workers.ts';
import { hasOlder } from '../workers/upgrade.ts';
import { insertClosingChunk, insertChunks } from './batches.ts';
import { leaseChunks } from './chunks.ts';
import { requireRoom } from './queued-work.ts';
import { keep } from './recording/record.ts';
import { outcomeFields, type StoredOutcome, withRun } from './reading/results.ts';
import { recordedLines } from './recording/recorded-lines.ts';

const bodies = tableOf<Pick<GroupedRequest, 'line' | 'body'> & { batchId: string }>('request_bodies')(
  'batchId line body',
);

/** Stores single requests in groups, and reads their results. */
export function createRequests(db: Db): RequestStore {
  return {
    create: (group, planned, requests, { limits, now, billedAt, worker }) =>
      withRollback<CreateGroupOutcome>(db, async (q) => {
        if (db.types.dialect === 'postgres' && (await hasOlder(q, requestGroups.version, now - lifeMs)))
          return { outcome: 'older_server' };
        await requireNew(q, group, requests, now);
        // Serializes creates of an org, so that its limits are exact.
        await q.all(`SELECT id FROM orgs WHERE id = ? ${q.forUpdate}`, [group.orgId]);
        const budgets = await spentBudgets(q, billedAt, group);
        const budget = budgets.find((each) => each.hard !== false && isUsedUp(each));
        if (budget) throw new Rollback<CreateGroupOutcome>({ outcome: 'budget_used_up', budget });
        await requireRoom(q, group, planned, limits);
        await batches.insert(q, [{ ...group, search: '' }]);
        await insertChunks(q, group, planned, 'ready');
        await insertClosingChunk(q, group);
        await bodies.insert(
          q,
          requests.map(({ line, body }) => ({ batchId: group.id, line, body })),
        );
        const made = requests.flatMap(({ response }) => response ?? []);
        if (made.length > 0) await addStored(q, await insertResponses(q, made));
        return {
          outcome: 'created',
          leased: worker === undefined ? [] : await begin(q, worker, group, planned, now),
        };
      }),

    async bodies(groupId, lines) {
      const found = await bodies.among(db, 'line', lines, { batchId: groupId });
      const byLine = new Map(found.map(({ line, body }) => [line, body]));
      return lines.map((line) => byLine.get(line));
    },

    async results(places) {
      const found: RequestResult[] = [];
      // Padding repeats the last place.
      for (const slice of paddedSlices(places, 256)) {
        const rows = await db.all<StoredOutcome & Pick<RequestResult, 'batchId' | 'stream'>>(
          `WITH asked(of_batch, place) AS (VALUES ${typedTuples(slice.length, ['text', 'integer'])})
           SELECT batch_id AS "batchId", stream, ${outcomeFields} FROM batch_results
           WHERE (batch_id, line) IN (SELECT of_batch, place FROM asked)`,
          slice.flatMap(({ batchId, line }) => [batchId, line]),
        );
        found.push(...rows.map(withRun));
      }
      return found;
    },

    async ended(places) {
      const recorded = await recordedLines(db, places);
      return places.filter(({ batchId, line }) => recorded.has(lineKey({ batchId, line })));
    },

    end: (orgId, result, now) =>
      db.tx(async (q) => {
        const group = await batchStates.first(q, { id: result.batchId, orgId, closing: null }, q.forUpdate);
        if (!group) return false;
        if (group.status === 'validating')
          await batches.change(q, { status: 'in_progress', inProgressAt: now }, { id: group.id });
        const kept = await keep(q, [group], [result], { now, billedAt: now });
        // The first claim of a chunk skips the search for results.
        await q.all(
          "UPDATE batch_chunks SET epoch = 1 WHERE batch_id = ? AND seq > 0 AND state = 'ready' AND epoch = 0",
          [group.id],
        );
        return kept.size > 0;
      }),

    async forget(before, limit) {
      const ended = await db.all<{ id: string }>(
        `SELECT id FROM batches WHERE id > 'group' AND id < ? AND purged = 1 ORDER BY id LIMIT ?`,
        [before, limit],
      );
      const ids = ended.map(({ id }) => id);
      await allIn(db, ids, (list) => `DELETE FROM batch_results WHERE batch_id IN ${list}`);
      await allIn(db, ids, (list) => `DELETE FROM batches WHERE id IN ${list}`);
      return ids.length;
    },
  };
}

/** Begins a new group at once, at the process that has created it. */
async function begin(
  q: Queries,
  worker: string,
  { id }: Batch,
  planned: readonly Chunk[],
  now: number,
): Promise<Chunk[]> {
  await batches.change(q, { status: 'in_progress', inProgressAt: now }, { id });
  return leaseChunks(q, worker, planned);
}

/** Takes the tokens of all requests. @throws Rollback if a request repeats another */
async function requireNew(
  q: Queries,
  { id: batchId, orgId }: Batch,
  requests: readonly GroupedRequest[],
  now: number,
): Promise<void> {
  const resources = requests.map(({ line, creation }) => ({
    creation,
    resourceId: lineRequestId({ batchId, line }),
  }));
  const claimed = await claimTokens(q, orgId, resources, now);
  const repeats = claimed.flatMap((claim, at) => {
    if (claim.outcome === 'ours') return [];
    return { line: requests[at]!.line, id: claim.outcome === 'replayed' ? claim.id : null };
  });
  if (repeats.length > 0) throw new Rollback<CreateGroupOutcome>({ outcome: 'repeats', repeats });
}
