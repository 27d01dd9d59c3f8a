import {
  advance,
  chooseChunks,
  mayTake,
  type OrgQueue,
  type ReadyChunk,
} from '../../../core/fair-queueing.ts';
import type { Batch, Chunk } from '../../../core/batch.ts';
import type { Db, Queries, Value } from '../../db.ts';
import type { BatchStore } from '../../contract/batches.ts';
import type { Claim, ClaimedBatch, ClaimOptions, ClaimRequest } from '../../contract/claim.ts';
import type { Words } from '../../../base/words.ts';
import { isolateFailures, nothing } from './isolate-failures.ts';
import { idleState, leaseChunks, withoutRecorded } from './chunks.ts';
import { idFilter, lockQueues, namesBeyond, readyHeads, readyNames, readyOrgs } from './ready.ts';
import { batchStates } from '../rows.ts';
import { allIn, tuples } from '../statement.ts';
import { tableOf } from '../table.ts';

/** Numbers of orgs and chunks that a claim considers, least served first; the larger only if the smaller do not suffice. */
const looks = [
  { orgs: 8, chunks: 64 },
  { orgs: 64, chunks: 512 },
];
/** Minimum of chunks per org. */
const minLook = 8;
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
        const asked = wanted
          .map((each) => ({ ...each, names: each.names.filter((name) => names.has(name)) }))
          .filter((each) => each.names.length > 0);
        const all = { worker, wanted: asked, options, picked };
        const single = only && {
          ...all,
          wanted: asked.map((each) => ({ ...each, lines: 1, chunks: 1, moreOrgs: 0 })),
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

/** Queue of an org for one model, under all names of the model. */
interface Share {
  orgId: string;
  names: string[];
  start: number;
  weight: number;
  /** True if a chunk of it is claimable. */
  atWork: boolean;
}

interface Choice extends ReadyChunk {
  model: string;
}

interface Asked {
  worker: string;
  wanted: readonly ClaimRequest[];
  options: ClaimOptions;
  /** Collects the batches of chosen chunks, for error isolation. */
  picked: Set<string>;
}

/** One claim in a transaction. Lock order: queues by model, batches by id, chunks. `again` if the chosen chunks were taken. */
async function claimInSet(q: Queries, asked: Asked): Promise<Claim | 'again'> {
  const { worker, wanted, options, picked } = asked;
  const clocks = await lockQueues(
    q,
    wanted.map(({ model }) => model),
  );
  const shares = await sharesOf(q, asked, clocks);
  if (shares.size === 0) return nothing;
  const chosen = await choose(q, asked, shares);
  if (chosen.length === 0) return nothing;
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
  await charge(q, shares, chosen, leased);
  const chunks = await withoutRecorded(q, leased);
  if (chunks.length === 0) return 'again';
  const claimed = new Set(chunks.map(({ batchId }) => batchId));
  return { chunks, batches: batches.filter(({ id }) => claimed.has(id)).map(toClaimed), faults: [] };
}

/** Orgs with ready chunks by model, least served first. */
async function sharesOf(
  q: Queries,
  { wanted, options }: Asked,
  clocks: ReadonlyMap<string, number>,
): Promise<Map<string, Share[]>> {
  const modelOf = new Map(wanted.flatMap(({ model, names }) => names.map((name) => [name, model])));
  const exhausted = new Set(options.exhausted);
  const rows = await readyOrgs(q, modelOf, options.billedAt ?? options.now);
  const shares = new Map<string, Map<string, Share>>();
  for (const { name, org_id: orgId, served, weight } of rows) {
    if (exhausted.has(orgId)) continue;
    const model = modelOf.get(name)!;
    const ofModel = shares.get(model) ?? new Map<string, Share>();
    shares.set(model, ofModel);
    const share = ofModel.get(orgId);
    // An org that was idle starts at the current virtual time.
    const start = Math.max(served ?? 0, clocks.get(model)!);
    if (!share) ofModel.set(orgId, { orgId, names: [name], start, weight: weight ?? 1, atWork: true });
    else share.names.push(name);
  }
  return new Map(
    [...shares].map(([model, ofModel]) => [
      model,
      [...ofModel.values()].toSorted((a, b) => a.start - b.start),
    ]),
  );
}

async function choose(q: Queries, asked: Asked, shares: ReadonlyMap<string, Share[]>): Promise<Choice[]> {
  for (const look of looks) {
    const isLast = look === looks.at(-1);
    const each = Math.max(1, Math.floor(look.orgs / shares.size));
    const { chosen, cut } = await lookAt(q, asked, shares, { each, chunks: look.chunks, isLast });
    if (!cut || isLast) return chosen;
  }
  return [];
}

/**
 * Chooses among the first `each` orgs of every model, and as many without claimed lines. `cut` if further orgs or chunks would have
 * had their turn; on the last attempt an org without claimable chunks does not block the others.
 */
async function lookAt(
  q: Queries,
  { wanted, options }: Asked,
  shares: ReadonlyMap<string, Share[]>,
  { each, chunks, isLast }: { each: number; chunks: number; isLast: boolean },
): Promise<{ chosen: Choice[]; cut: boolean }> {
  const firstOf = new Map(
    wanted.map((wish) => [wish.model, firstShares(shares.get(wish.model) ?? [], wish, each)]),
  );
  const first = [...firstOf.values()].flat();
  const looked = first.flatMap(({ names, orgId }) => names.map((name) => ({ name, orgId })));
  const look = Math.max(minLook, Math.ceil(chunks / looked.length));
  const heads = await readyHeads(q, looked, look, options);
  for (const share of first) share.atWork = share.names.some((name) => heads.has(`${name} ${share.orgId}`));
  const suspects = { ...options.suspects };
  const chosen: Choice[] = [];
  let cut = false;
  for (const wish of wanted) {
    const ofModel = firstOf.get(wish.model)!;
    const queues = ofModel.map((share) => queueOf(share, heads, look));
    if (isLast)
      for (const queue of queues) queue.hasMore &&= queue.chunks.some((chunk) => mayTake(chunk, suspects));
    const next = shares.get(wish.model)?.find((share) => !ofModel.includes(share));
    if (next) queues.push({ ...next, chunks: [], hasMore: true });
    const choice = chooseChunks(queues, wish, suspects);
    chosen.push(...choice.chunks.map((chunk) => ({ ...chunk, model: wish.model })));
    cut ||= choice.isTruncated;
  }
  return { chosen, cut };
}

/** First `each` orgs of a model, and the first without claimed lines where these get chunks beyond the minimums. */
function firstShares(
  ofModel: readonly Share[],
  { claimedDue, moreOrgs }: ClaimRequest,
  each: number,
): Share[] {
  const without = ofModel.filter(({ orgId }) => !Object.hasOwn(claimedDue, orgId));
  return [...new Set([...ofModel.slice(0, each), ...without.slice(0, Math.min(each, moreOrgs))])];
}

/** Charges orgs the estimated tokens of their chunks. The virtual time of a model is the minimum of its active orgs. */
async function charge(
  q: Queries,
  shares: ReadonlyMap<string, Share[]>,
  chosen: readonly Choice[],
  leased: readonly Chunk[],
): Promise<void> {
  const leases = new Set(leased.map(({ batchId, seq }) => `${batchId}/${seq}`));
  const ests = new Map<string, number>();
  for (const { model, orgId, batchId, seq, est } of chosen) {
    const share = `${model} ${orgId}`;
    if (leases.has(`${batchId}/${seq}`)) ests.set(share, (ests.get(share) ?? 0) + est);
  }
  const charged: Value[] = [];
  const clocks: Value[] = [];
  for (const [model, ofModel] of shares) {
    for (const share of ofModel) {
      const est = ests.get(`${model} ${share.orgId}`);
      if (est === undefined) continue;
      share.start += advance(est, share.weight);
      charged.push(model, share.orgId, share.start);
    }
    const starts = ofModel.filter(({ atWork }) => atWork).map(({ start }) => start);
    if (starts.length > 0) clocks.push(model, Math.min(...starts));
  }
  await q.all(
    `INSERT INTO queue_shares (model, org_id, served) VALUES ${tuples(charged.length / 3, 3)}
     ON CONFLICT (model, org_id) DO UPDATE SET served = excluded.served`,
    charged,
  );
  await q.all(
    `INSERT INTO queues (model, virtual_time) VALUES ${tuples(clocks.length / 2, 2)}
     ON CONFLICT (model) DO UPDATE SET virtual_time = excluded.virtual_time`,
    clocks,
  );
}

function queueOf(
  { orgId, names, start, weight }: Share,
  heads: ReadonlyMap<string, ReadyChunk[]>,
  look: number,
): OrgQueue {
  const lists = names.map((name) => heads.get(`${name} ${orgId}`) ?? []);
  const chunks = lists.length === 1 ? lists[0]! : lists.flat().toSorted((a, b) => a.due - b.due);
  return { orgId, start, weight, chunks, hasMore: lists.some((list) => list.length === look) };
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
