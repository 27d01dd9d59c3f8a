import { chooseChunks, mayTake, type OrgQueue, type ReadyChunk } from '../../../core/fair-queueing.ts';
import type { Queries } from '../../db.ts';
import type { ClaimOptions, ClaimRequest } from '../../contract/claim.ts';
import { readyHeads } from './ready.ts';
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
  /** True if a chunk of it is claimable. */
  atWork: boolean;
}

export interface Choice extends ReadyChunk {
  model: string;
}

/** A claim of a process. */
export interface Asked {
  worker: string;
  wanted: readonly ClaimRequest[];
  options: ClaimOptions;
  /** Collects the batches of chosen chunks, for error isolation. */
  picked: Set<string>;
}

interface Choosing {
  chosen: Choice[];
  /** Orgs in their order, by model: all that were looked at, and the next one. */
  shares: ReadonlyMap<string, Share[]>;
  /** Orgs that stand in the order without ready chunks. */
  idle: readonly ReadyOrg[];
}

/**
 * Chooses chunks for all models, in the transaction that leases them.
 * @param clocks virtual times of the models, locked
 */
export async function choose(
  q: Queries,
  asked: Asked,
  clocks: ReadonlyMap<string, number>,
): Promise<Choosing> {
  for (const look of looks) {
    const isLast = look === looks.at(-1);
    const each = Math.max(1, Math.floor(look.orgs / asked.wanted.length));
    const { shares, idle } = await readShares(q, asked, clocks, each);
    const { chosen, cut } = await lookAt(q, asked, shares, { ...look, each, isLast });
    if (!cut || isLast) return { chosen, shares, idle };
  }
  return { chosen: [], shares: new Map(), idle: [] };
}

/** Orgs with ready chunks by model, least served first: those for a look at `each` of them, and one more. */
async function readShares(
  q: Queries,
  { wanted, options }: Asked,
  clocks: ReadonlyMap<string, number>,
  each: number,
): Promise<Pick<Choosing, 'shares' | 'idle'>> {
  const names = wanted.flatMap(({ model, names: all, claimedDue, moreOrgs }) => {
    // As many orgs without claimed lines are looked at, which stand between those that have some.
    const count = each + 1 + (moreOrgs > 0 ? Object.keys(claimedDue).length : 0);
    return all.map((name) => ({ name, model, count }));
  });
  const { found, idle } = await readyOrgs(q, names, options);
  const modelOf = new Map(names.map(({ name, model }) => [name, model]));
  const shares = new Map<string, Map<string, Share>>();
  for (const { name, orgId, place, served, weight } of found) {
    const model = modelOf.get(name)!;
    const ofModel = shares.get(model) ?? new Map<string, Share>();
    shares.set(model, ofModel);
    const share = ofModel.get(orgId);
    // An org that was idle starts at the current virtual time.
    const start = Math.max(place, served ?? 0, clocks.get(model)!);
    if (!share) ofModel.set(orgId, { orgId, names: [name], start, weight: weight ?? 1, atWork: true });
    else {
      share.names.push(name);
      share.start = Math.max(share.start, start);
    }
  }
  const inOrder = (ofModel: Map<string, Share>) =>
    [...ofModel.values()].toSorted((a, b) => a.start - b.start);
  return { shares: new Map([...shares].map(([model, ofModel]) => [model, inOrder(ofModel)])), idle };
}

/**
 * Chooses among the first `each` orgs of every model, and as many without claimed lines. `cut` if further orgs or chunks would have
 * had their turn; on the last attempt an org without claimable chunks does not block the others.
 */
async function lookAt(
  q: Queries,
  { wanted, options }: Asked,
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

function queueOf(
  { orgId, names, start, weight }: Share,
  heads: ReadonlyMap<string, ReadyChunk[]>,
  look: number,
): OrgQueue {
  const lists = names.map((name) => heads.get(`${name} ${orgId}`) ?? []);
  const chunks = lists.length === 1 ? lists[0]! : lists.flat().toSorted((a, b) => a.due - b.due);
  return { orgId, start, weight, chunks, hasMore: lists.some((list) => list.length === look) };
}
