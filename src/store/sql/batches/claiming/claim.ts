import { advance } from '../../../../core/fair-queueing.ts';
import { owedAfter } from '../../../../core/late-work.ts';
import type { Batch, Chunk } from '../../../../core/batch.ts';
import type { Db, Queries, Value } from '../../../db.ts';
import type { BatchStore } from '../../../contract/batches.ts';
import type { Claim, ClaimedBatch, ClaimRequest } from '../../../contract/claim.ts';
import type { Words } from '../../../../base/words.ts';
import { isolateFailures, nothing } from './isolate-failures.ts';
import { idleState, leaseChunks, withoutRecorded } from '../chunks.ts';
import { type ClaimInput, choose, type Choice, type Share } from './choose.ts';
import { idFilter, lockQueues, namesBeyond, type QueueClock, readyNames } from './ready.ts';
import { clearStale } from './ready-orgs.ts';
import { batchStates } from '../../rows.ts';
import { allIn, tuples } from '../../statement.ts';
import { tableOf } from '../../table.ts';

/** Attempts: another process may lease the chosen chunks first. */
const maxTries = 3;

/** Claims chunks: chosen among all orgs and batches, and leased in sets (docs/design/batch-engine.md). */
export function createClaiming(db: Db): Pick<BatchStore, 'claim' | 'claimClosings'> {
  return {
    claim: (worker, wanted, options) =>
      isolateFailures(async (only, picked) => {
        const isNeeded = ({ lines, chunks }: ClaimRequest) => lines + chunks > 0;
        const names = new Set([
          ...(await readyNames(db, wanted.filter(isNeeded))),
          ...(await namesBeyond(
            db,
            wanted.filter((each) => !isNeeded(each)),
          )),
        ]);
        if (names.size === 0) return nothing;
        const promising = wanted
          .map((each) => ({ ...each, names: each.names.filter((name) => names.has(name)) }))
          .filter((each) => each.names.length > 0);
        const all = { worker, wanted: promising, options, picked };
        const single = only && {
          ...all,
          wanted: promising.map((each) => ({ ...each, lines: 1, chunks: 1, moreOrgs: 0 })),
          options: { ...options, only },
        };
        for (let tries = 1; ; tries++) {
          const claim = await db.tx((q) => claimInSet(q, single ?? all));
          if (claim !== 'again') return claim;
          if (tries === maxTries) return nothing;
        }
      }),

    claimClosings: (worker, count, except) =>
      isolateFailures(async (only, picked) => {
        const filter = idFilter('batch_id', only ? { only } : { except });
        const ready = await db.all<{ batch_id: string }>(
          `${filter.with} SELECT batch_id FROM batch_chunks WHERE state = 'ready' AND seq = 0 ${filter.and}
           ORDER BY due, batch_id LIMIT ?`,
          [...filter.params, count],
        );
        if (ready.length === 0) return nothing;
        const ids = ready.map(({ batch_id }) => batch_id);
        for (const id of ids) picked.add(id);
        return db.tx(async (q) => {
          const ending = (await lockFree(q, ids, batchStates)).filter(({ closing }) => closing !== null);
          const chosen = ending.map(({ id }) => ({ batchId: id, seq: 0 }));
          return { ...nothing, chunks: await leaseChunks(q, worker, chosen) };
        });
      }),
  };
}

/** One claim in a transaction. Lock order: queues by model, batches by id, chunks, orgs. `again` if the chosen chunks were taken. */
async function claimInSet(q: Queries, input: ClaimInput): Promise<Claim | 'again'> {
  const { wanted } = input;
  const clocks = await lockQueues(
    q,
    wanted.map(({ model }) => model),
  );
  const { chosen, shares, stale } = await choose(q, input, clocks);
  const claim = chosen.length === 0 ? nothing : await leaseChosen(q, input, chosen, shares, clocks);
  await clearStale(q, stale);
  return claim;
}

/** Leases the chosen chunks whose batches still run, and charges their orgs. */
async function leaseChosen(
  q: Queries,
  { worker, options, picked }: ClaimInput,
  chosen: readonly Choice[],
  shares: ReadonlyMap<string, Share[]>,
  queues: ReadonlyMap<string, QueueClock>,
): Promise<Claim | 'again'> {
  for (const { batchId } of chosen) picked.add(batchId);
  const of = new Set(chosen.map(({ batchId }) => batchId));
  const batches = await lockFree<BatchRow>(q, [...of], claimables);
  const open = new Set(batches.filter(isOpen).map(({ id }) => id));
  // Corrects chunks that were released just as their batch was paused or ended.
  await allIn(
    q,
    batches.filter((batch) => !isOpen(batch)).map(({ id }) => id),
    (list) =>
      `UPDATE batch_chunks SET state = ${idleState} WHERE batch_id IN ${list} AND seq > 0 AND state = 'ready'`,
  );
  const leased = await leaseChunks(
    q,
    worker,
    chosen.filter(({ batchId }) => open.has(batchId)),
  );
  if (leased.length === 0) return 'again';
  // A pause before the first claim does not count.
  await allIn(
    q,
    batches.filter(({ id, status }) => open.has(id) && status === 'validating').map(({ id }) => id),
    (list) =>
      `UPDATE batches SET status = 'in_progress', in_progress_at = ?, paused_ms = 0 WHERE id IN ${list}`,
    (ids) => [options.now, ...ids],
  );
  await charge(q, shares, queues, chosen, leased);
  const chunks = await withoutRecorded(q, leased);
  if (chunks.length === 0) return 'again';
  const claimed = new Set(chunks.map(({ batchId }) => batchId));
  return { chunks, batches: batches.filter(({ id }) => claimed.has(id)).map(toClaimed), faults: [] };
}

/**
 * Charges orgs the estimated tokens of their chunks, and the queue those of late work ahead of its turn. The virtual time of a model is
 * the minimum of its active orgs.
 */
async function charge(
  q: Queries,
  shares: ReadonlyMap<string, Share[]>,
  queues: ReadonlyMap<string, QueueClock>,
  chosen: readonly Choice[],
  leased: readonly Chunk[],
): Promise<void> {
  const leases = new Set(leased.map(({ batchId, seq }) => `${batchId}/${seq}`));
  const ests = new Map<string, number>();
  const owed = new Map([...queues].map(([model, queue]) => [model, queue.owed]));
  for (const { model, orgId, batchId, seq, est, isAhead } of chosen) {
    if (!leases.has(`${batchId}/${seq}`)) continue;
    const share = `${model} ${orgId}`;
    ests.set(share, (ests.get(share) ?? 0) + est);
    owed.set(model, owedAfter(owed.get(model)!, est, isAhead));
  }
  const charged: Value[] = [];
  const clocks: Value[] = [];
  for (const [model, ofModel] of shares) {
    for (const share of ofModel) {
      const est = ests.get(`${model} ${share.orgId}`);
      if (est === undefined) continue;
      share.start += advance(est, share.weight);
      // Under an alias of the model, the org stands at the same place.
      for (const name of new Set([model, ...share.names])) charged.push(name, share.orgId, share.start);
    }
    const starts = ofModel.filter(({ hasClaimable }) => hasClaimable).map(({ start }) => start);
    if (starts.length > 0) clocks.push(model, Math.min(...starts), owed.get(model)!);
  }
  await q.all(
    `INSERT INTO queue_shares (model, org_id, served) VALUES ${tuples(charged.length / 3, 3)}
     ON CONFLICT (model, org_id) DO UPDATE SET served = excluded.served`,
    charged,
  );
  await q.all(
    `INSERT INTO queues (model, virtual_time, owed) VALUES ${tuples(clocks.length / 3, 3)}
     ON CONFLICT (model) DO UPDATE SET virtual_time = excluded.virtual_time, owed = excluded.owed`,
    clocks,
  );
}

type Claimable = Pick<
  Batch,
  Words<'id orgId keyId keyFamily endpoint status closing due expiresAt pausedAt prices priceFactor tier'>
>;

const claimable = tableOf<Claimable>('batches', { json: ['prices'] })(
  'id orgId keyId keyFamily endpoint status closing due expiresAt pausedAt prices priceFactor tier',
);

type BatchRow = Claimable & Pick<ClaimedBatch, 'blobId' | 'weight'>;

const claimables = {
  fields: `${claimable.fields},
    (SELECT f.blob_id FROM files f WHERE f.id = batches.input_file_id) AS "blobId",
    COALESCE((SELECT o.weight FROM orgs o WHERE o.id = batches.org_id), 1) AS weight`,
  read: (row: object) => claimable.read(row) as BatchRow,
};

const isOpen = ({ closing, pausedAt }: BatchRow) => closing === null && pausedAt === null;

function toClaimed({
  id,
  orgId,
  keyId,
  keyFamily,
  endpoint,
  due,
  expiresAt,
  ...more
}: BatchRow): ClaimedBatch {
  const { prices, priceFactor, tier, blobId, weight } = more;
  return { id, orgId, keyId, keyFamily, endpoint, due, expiresAt, prices, priceFactor, tier, blobId, weight };
}

/** Locks the batches that are free; if none is, waits for the writers. */
async function lockFree<Row>(
  q: Queries,
  ids: readonly string[],
  { fields, read }: { fields: string; read: (row: object) => Row },
): Promise<Row[]> {
  const locked = async (lock: string) => {
    const text = (list: string) => `SELECT ${fields} FROM batches WHERE id IN ${list} ORDER BY id ${lock}`;
    return (await allIn<object>(q, ids.toSorted(), text)).map(read);
  };
  const free = await locked(q.skipLocked);
  return free.length > 0 || ids.length === 0 ? free : locked(q.forUpdate);
}
