import {
  chooseChunks,
  type ChosenChunk,
  mayTake,
  type OrgQueue,
  type ReadyChunk,
} from '../../../../core/fair-queueing.ts';
import { isLate } from '../../../../core/urgency.ts';
import type { Queries } from '../../../db.ts';
import type { ClaimOptions, ClaimRequest } from '../../../contract/claim.ts';
import { type QueueClock, readyHeads } from './ready.ts';
import { type ReadyOrg, readyOrgs } from './ready-orgs.ts';

/**
 * Numbers of orgs and chunks that a claim considers, least served first; the larger only if the smaller do not suffice. Many orgs at the
 * same virtual time take turns by the chunk, so that a few of each suffice.
 */
export const looks = [
  { orgs: 16, chunks: 64, minEach: 4 },
  { orgs: 64, chunks: 128, minEach: 2 },
  { orgs: 64, chunks: 512, minEach: 8 },
];

/** Queue of an org for one model, under all names of the model. */
export interface Share {
  orgId: string;
  names: string[];
  start: number;
  weight: number;
  isLate: boolean;
  /** True if a chunk of it is claimable. */
  hasClaimable: boolean;
}

export interface Choice extends ChosenChunk {
  model: string;
}

/** A claim of a process. */
export interface ClaimInput {
  worker: string;
  wanted: readonly ClaimRequest[];
  options: ClaimOptions;
  /** Collects the batches of chosen chunks, for error isolation. */
  picked: Set<string>;
}

interface Choosing {
  chosen: Choice[];
  /** Orgs in their order, by model: all that were looked at, and the next ones. */
  shares: ReadonlyMap<string, Share[]>;
  /** Orgs in an order that have no ready or late chunks. */
  stale: readonly ReadyOrg[];
}

/**
 * Chooses chunks for all models, in the transaction that leases them.
 * @param clocks queues of the models, locked
 */
export async function choose(
  q: Queries,
  input: ClaimInput,
  clocks: ReadonlyMap<string, QueueClock>,
): Promise<Choosing> {
  for (const look of looks) {
    const isLast = look === looks.at(-1);
    const each = Math.max(1, Math.floor(look.orgs / input.wanted.length));
    const { shares, stale } = await readShares(q, input, clocks, each);
    const { chosen, cut } = await lookAt(q, input, clocks, shares, { ...look, each, isLast });
    if (!cut || isLast) return { chosen, shares, stale };
  }
  return { chosen: [], shares: new Map(), stale: [] };
}

/** Orgs with ready chunks by model, least served first: enough to look at `each`, and one more, which shows that there are others. */
async function readShares(
  q: Queries,
  { wanted, options }: ClaimInput,
  clocks: ReadonlyMap<string, QueueClock>,
  each: number,
): Promise<Pick<Choosing, 'shares' | 'stale'>> {
  const names = wanted.flatMap(({ model, names: all, claimedDue, moreOrgs }) => {
    // As many orgs without claimed lines are looked at, which stand between those that have some.
    const count = each + 1 + (moreOrgs > 0 ? Object.keys(claimedDue).length : 0);
    // Those looked at for other reasons may be late, too.
    const lateCount = lateLook(each) + each + Math.min(each, moreOrgs) + 1;
    return all.map((name) => ({ name, model, count, lateCount }));
  });
  const { found, stale } = await readyOrgs(q, names, options);
  const modelOf = new Map(names.map(({ name, model }) => [name, model]));
  const shares = new Map<string, Map<string, Share>>();
  for (const { name, orgId, place, served, weight, head } of found) {
    const model = modelOf.get(name)!;
    const ofModel = shares.get(model) ?? new Map<string, Share>();
    shares.set(model, ofModel);
    const share = ofModel.get(orgId);
    // An org that was idle starts at the current virtual time.
    const start = Math.max(place, served ?? 0, clocks.get(model)!.virtualTime);
    const hasLate = isLate(head!);
    if (!share)
      ofModel.set(orgId, {
        orgId,
        names: [name],
        start,
        weight: weight ?? 1,
        isLate: hasLate,
        hasClaimable: true,
      });
    else {
      share.names.push(name);
      share.start = Math.max(share.start, start);
      share.isLate ||= hasLate;
    }
  }
  const inOrder = (ofModel: Map<string, Share>) =>
    [...ofModel.values()].toSorted((a, b) => a.start - b.start);
  return { shares: new Map([...shares].map(([model, ofModel]) => [model, inOrder(ofModel)])), stale };
}

/** Number of orgs with late chunks to look at besides `each` orgs in turn: late work gets as much as the others. */
export function lateLook(each: number): number {
  return Math.ceil(each / 2);
}

/**
 * Chooses among the first `each` orgs of every model, as many without claimed lines, and the first with late chunks. `cut` if further
 * orgs or chunks would have had their turn; on the last attempt an org without claimable chunks does not block the others.
 */
async function lookAt(
  q: Queries,
  { wanted, options }: ClaimInput,
  clocks: ReadonlyMap<string, QueueClock>,
  shares: ReadonlyMap<string, Share[]>,
  { each, chunks, minEach, isLast }: { each: number; chunks: number; minEach: number; isLast: boolean },
): Promise<{ chosen: Choice[]; cut: boolean }> {
  const firstOf = new Map(
    wanted.map((wish) => [wish.model, firstShares(shares.get(wish.model) ?? [], wish, each)]),
  );
  const first = [...firstOf.values()].flat();
  const looked = first.flatMap(({ names, orgId }) => names.map((name) => ({ name, orgId })));
  const look = Math.max(minEach, Math.ceil(chunks / looked.length));
  const heads = await readyHeads(q, looked, look, options);
  for (const share of first)
    share.hasClaimable = share.names.some((name) => heads.has(`${name} ${share.orgId}`));
  const suspects = { ...options.suspects };
  const chosen: Choice[] = [];
  let cut = false;
  for (const wish of wanted) {
    const ofModel = firstOf.get(wish.model)!;
    const queues = ofModel.map((share) => queueOf(share, heads, look));
    if (isLast)
      for (const queue of queues) queue.hasMore &&= queue.chunks.some((chunk) => mayTake(chunk, suspects));
    const others = shares.get(wish.model)?.filter((share) => !ofModel.includes(share)) ?? [];
    const next = new Set([...others.slice(0, 1), ...others.filter((share) => share.isLate).slice(0, 1)]);
    for (const share of next) queues.push({ ...share, chunks: [], hasMore: true });
    const choice = chooseChunks(queues, wish, suspects, clocks.get(wish.model)!.owed);
    chosen.push(...choice.chunks.map((chunk) => ({ ...chunk, model: wish.model })));
    cut ||= choice.isTruncated;
  }
  return { chosen, cut };
}

/**
 * First `each` orgs of a model, the first without claimed lines where these get chunks beyond the minimums, and the first with late
 * chunks.
 */
function firstShares(
  ofModel: readonly Share[],
  { claimedDue, moreOrgs }: ClaimRequest,
  each: number,
): Share[] {
  const without = ofModel.filter(({ orgId }) => !Object.hasOwn(claimedDue, orgId));
  const late = ofModel.filter((share) => share.isLate);
  return [
    ...new Set([
      ...ofModel.slice(0, each),
      ...without.slice(0, Math.min(each, moreOrgs)),
      ...late.slice(0, lateLook(each)),
    ]),
  ];
}

function queueOf(
  { orgId, names, start, weight, isLate: hasLate }: Share,
  heads: ReadonlyMap<string, ReadyChunk[]>,
  look: number,
): OrgQueue {
  const lists = names.map((name) => heads.get(`${name} ${orgId}`) ?? []);
  const chunks = lists.length === 1 ? lists[0]! : lists.flat().toSorted((a, b) => a.due - b.due);
  return {
    orgId,
    start,
    weight,
    isLate: hasLate,
    chunks,
    hasMore: lists.some((list) => list.length === look),
  };
}
