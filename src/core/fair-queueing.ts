import { compareUrgency } from './urgency.ts';

/**
 * Choice of the next chunks: start-time fair queueing between orgs, lowest `due` first within an org. Pure; the store calls it in the
 * transaction that leases the chosen chunks.
 */

export interface ReadyChunk {
  batchId: string;
  seq: number;
  orgId: string;
  due: number;
  lines: number;
  /** Estimated tokens of its lines. */
  est: number;
  kills: number;
  /** Three quarters of the batch's window are over. */
  late: boolean;
}

/** Waiting work of one org for one model. */
export interface OrgQueue {
  orgId: string;
  /** Virtual time at which the next chunk begins: tokens served, divided by the weight. */
  start: number;
  weight: number;
  /** First chunks, in order. */
  chunks: readonly ReadyChunk[];
  /** True if there may be more. */
  hasMore: boolean;
}

export interface ClaimTarget {
  /** Chunks are taken until both minimums are reached. */
  lines: number;
  chunks: number;
  /** Lowest `due` already claimed, by org: one more urgent chunk is taken beyond the minimums. */
  claimedDue: Readonly<Record<string, number>>;
  /** Number of orgs not in `claimedDue` that get a chunk beyond the minimums, so that none waits for the claimed lines of others. */
  moreOrgs: number;
}

/** Limit on suspect chunks: `max` chunks with exactly `minKills` kills, or, if `mayTakeAlone`, one with more kills. */
export interface SuspectAllowance {
  minKills: number;
  max: number;
  mayTakeAlone: boolean;
}

/** Estimated tokens by which an org with late work may run ahead of its turn. It is charged as usual, so it gets this advance once. */
const lateCredit = 1_000_000;

/**
 * @param suspects reduced by the chosen chunks
 * @returns `isTruncated` if the choice ended at an org whose further chunks were not passed
 */
export function chooseChunks(
  queues: readonly OrgQueue[],
  wish: ClaimTarget,
  suspects: SuspectAllowance,
): { chunks: ReadyChunk[]; isTruncated: boolean } {
  const chosen: ReadyChunk[] = [];
  const waiting = queues.map((queue) => ({ ...queue, at: 0 }));
  const served = new Set(Object.keys(wish.claimedDue));
  let { moreOrgs } = wish;
  let lines = 0;
  let hurried = false;
  for (;;) {
    const isFull = lines >= wish.lines && chosen.length >= wish.chunks;
    if (isFull && hurried && moreOrgs <= 0) return { chunks: chosen, isTruncated: false };
    let best: { queue: (typeof waiting)[number]; chunk: ReadyChunk; turn: number } | undefined;
    let cutAt = Number.POSITIVE_INFINITY;
    for (const queue of waiting) {
      while (queue.at < queue.chunks.length && !mayTake(queue.chunks[queue.at]!, suspects)) queue.at++;
      const chunk = queue.chunks[queue.at];
      if (!chunk) {
        if (queue.hasMore) cutAt = Math.min(cutAt, queue.start);
        continue;
      }
      if (isFull && !mayExceed(chunk)) continue;
      const turn = queue.start - (chunk.late ? lateCredit : 0);
      if (!best || turn < best.turn || (turn === best.turn && compareUrgency(chunk, best.chunk) < 0))
        best = { queue, chunk, turn };
    }
    if (!isFull && cutAt < (best?.turn ?? Number.POSITIVE_INFINITY))
      return { chunks: chosen, isTruncated: true };
    if (!best) return { chunks: chosen, isTruncated: false };
    if (isFull && served.has(best.queue.orgId)) hurried = true;
    else if (!served.has(best.queue.orgId)) moreOrgs--;
    served.add(best.queue.orgId);
    best.queue.at++;
    best.queue.start += advance(best.chunk.est, best.queue.weight);
    const { kills } = best.chunk;
    if (kills >= suspects.minKills) {
      suspects.max = kills === suspects.minKills ? suspects.max - 1 : 0;
      suspects.mayTakeAlone = false;
    }
    lines += best.chunk.lines;
    chosen.push(best.chunk);
  }

  /** True if the chunk may be taken beyond the minimums. */
  function mayExceed({ orgId, due }: ReadyChunk): boolean {
    if (!served.has(orgId)) return moreOrgs > 0;
    return !hurried && due < (wish.claimedDue[orgId] ?? Number.NEGATIVE_INFINITY);
  }
}

/** Virtual time of `est` tokens. */
export function advance(est: number, weight: number): number {
  return Math.ceil(est / weight);
}

/** True if the allowance permits the chunk. */
export function mayTake({ kills }: ReadyChunk, { minKills, max, mayTakeAlone }: SuspectAllowance): boolean {
  if (kills < minKills) return true;
  return kills === minKills ? max > 0 : mayTakeAlone;
}
