import { goesAhead, owedAfter, type Turn } from './late-work.ts';
import { compareUrgency, isLate } from './urgency.ts';

/**
 * Choice of the next chunks: start-time fair queueing between orgs, with an advance for late work (late-work.ts), and lowest `due` first
 * within an org. Pure; the store calls it in the transaction that leases the chosen chunks.
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
}

export interface ChosenChunk extends ReadyChunk {
  /** True if its org goes before its turn. */
  isAhead: boolean;
}

/** Waiting work of one org for one model. Its virtual time, at which the next chunk begins, is tokens served, divided by the weight. */
export interface OrgQueue extends Turn {
  orgId: string;
  weight: number;
  /** True if it has late chunks; used where its chunks are not passed. */
  isLate: boolean;
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
  /** Number of orgs not in `claimedDue` that get a late chunk even if `moreOrgs` is used up; 0 if absent. */
  moreLateOrgs?: number;
}

/** Limit on suspect chunks: `max` chunks with exactly `minKills` kills, or, if `mayTakeAlone`, one with more kills. */
export interface SuspectAllowance {
  minKills: number;
  max: number;
  mayTakeAlone: boolean;
}

/**
 * @param suspects reduced by the chosen chunks
 * @param owed tokens that late work took ahead of its turn (late-work.ts)
 * @returns `isTruncated` if the choice ended at an org whose further chunks were not passed
 */
export function chooseChunks(
  queues: readonly OrgQueue[],
  wish: ClaimTarget,
  suspects: SuspectAllowance,
  owed = 0,
): { chunks: ChosenChunk[]; isTruncated: boolean } {
  const chosen: ChosenChunk[] = [];
  const waiting = queues.map((queue) => ({ ...queue, at: 0 }));
  type Waiting = (typeof waiting)[number];
  const served = new Set(Object.keys(wish.claimedDue));
  let { moreOrgs, moreLateOrgs = 0 } = wish;
  let lines = 0;
  let hurried = false;
  for (;;) {
    const isFull = lines >= wish.lines && chosen.length >= wish.chunks;
    if (isFull && hurried && moreOrgs <= 0 && moreLateOrgs <= 0)
      return { chunks: chosen, isTruncated: false };
    let front: Waiting | undefined;
    let next: Waiting | undefined;
    let late: Waiting | undefined;
    for (const queue of waiting) {
      while (queue.at < queue.chunks.length && !mayTake(queue.chunks[queue.at]!, suspects)) queue.at++;
      const chunk = queue.chunks[queue.at];
      if (!chunk && !queue.hasMore) continue;
      if (!front || comesBefore(queue, front)) front = queue;
      const isNext = !isFull || (chunk !== undefined && mayExceed(chunk));
      if (isNext && (!next || comesBefore(queue, next))) next = queue;
      const isHurried = chunk ? isLate(chunk.due) : queue.isLate && !isFull;
      if (isHurried && (isNext || mayHurry(queue)) && (!late || comesBefore(queue, late))) late = queue;
    }
    const best = front && goesAhead(front, late, owed) ? late : next;
    if (!best) return { chunks: chosen, isTruncated: false };
    const chunk = best.chunks[best.at];
    if (!chunk) return { chunks: chosen, isTruncated: true };
    const isAhead = best === late && best !== front;
    if (isFull && served.has(best.orgId)) hurried = true;
    if (!served.has(best.orgId)) {
      moreOrgs--;
      if (isLate(chunk.due)) moreLateOrgs--;
    }
    served.add(best.orgId);
    best.at++;
    best.start += advance(chunk.est, best.weight);
    owed = owedAfter(owed, chunk.est, isAhead);
    const { kills } = chunk;
    if (kills >= suspects.minKills) {
      suspects.max = kills === suspects.minKills ? suspects.max - 1 : 0;
      suspects.mayTakeAlone = false;
    }
    lines += chunk.lines;
    chosen.push({ ...chunk, isAhead });
  }

  /** Orders by virtual time. A queue whose chunks were not passed comes after the others at the same time. */
  function comesBefore(a: Waiting, b: Waiting): boolean {
    if (a.start !== b.start) return a.start < b.start;
    const [ofA, ofB] = [a.chunks[a.at], b.chunks[b.at]];
    return ofA !== undefined && (!ofB || compareUrgency(ofA, ofB) < 0);
  }

  /** True if the chunk may be taken beyond the minimums. */
  function mayExceed({ orgId, due }: ReadyChunk): boolean {
    if (!served.has(orgId)) return moreOrgs > 0;
    return !hurried && due < (wish.claimedDue[orgId] ?? Number.NEGATIVE_INFINITY);
  }

  /** True if a late chunk of the org may be taken beyond the minimums. */
  function mayHurry({ orgId }: OrgQueue): boolean {
    return !served.has(orgId) && moreLateOrgs > 0;
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
