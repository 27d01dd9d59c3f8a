/**
 * Which ready chunks are taken next: start-time fair queueing between orgs, and inside an org what is due first. Pure; the
 * store asks it inside the transaction that leases what it chose.
 */

/** A chunk that may be taken. */
export interface ReadyChunk {
  batchId: string;
  seq: number;
  orgId: string;
  due: number;
  lines: number;
  /** Estimated tokens of its lines. */
  est: number;
  kills: number;
  /** Most of its batch's window is over. */
  late: boolean;
}

/** The work of one org that waits for one model. */
export interface OrgQueue {
  orgId: string;
  /** Virtual time at which its next chunk begins: the tokens it was given, divided by its weight. */
  start: number;
  weight: number;
  /** Its first chunks, in their order. */
  chunks: readonly ReadyChunk[];
  /** Whether it may have more than these. */
  hasMore: boolean;
}

export interface ClaimTarget {
  /** Taken are chunks until there are so many lines, and so many chunks. */
  lines: number;
  chunks: number;
  /** By org, the least `due` that is in hand already: one chunk that is due before that is taken however much there is. */
  claimedDue: Readonly<Record<string, number>>;
}

/** How many chunks may be taken whose owners died `from` times or more. `alone`: or one whose owners died more often. */
export interface SuspectAllowance {
  minKills: number;
  max: number;
  mayTakeAlone: boolean;
}

export interface ChunkChoice {
  chunks: ReadyChunk[];
  /** An org whose turn it was has more chunks than were told: the choice ended there. */
  isTruncated: boolean;
}

/**
 * An org with work that may miss its window goes this many estimated tokens before its turn. It is charged as ever, so it
 * waits the longer afterwards: what it may get ahead of the others is this, once.
 */
const lateCredit = 1_000_000;

/** @param suspects is counted down by what is taken */
export function chooseChunks(
  queues: readonly OrgQueue[],
  wish: ClaimTarget,
  suspects: SuspectAllowance,
): ChunkChoice {
  const chosen: ReadyChunk[] = [];
  const waiting = queues.map((queue) => ({ ...queue, at: 0 }));
  let lines = 0;
  let hurried = false;
  for (;;) {
    const isFull = lines >= wish.lines && chosen.length >= wish.chunks;
    if (isFull && hurried) return { chunks: chosen, isTruncated: false };
    let best: { queue: (typeof waiting)[number]; chunk: ReadyChunk; turn: number } | undefined;
    let cutAt = Number.POSITIVE_INFINITY;
    for (const queue of waiting) {
      while (queue.at < queue.chunks.length && !mayTake(queue.chunks[queue.at]!, suspects)) queue.at++;
      const chunk = queue.chunks[queue.at];
      if (!chunk) {
        if (queue.hasMore) cutAt = Math.min(cutAt, queue.start);
        continue;
      }
      if (isFull && chunk.due >= (wish.claimedDue[queue.orgId] ?? Number.NEGATIVE_INFINITY)) continue;
      const turn = queue.start - (chunk.late ? lateCredit : 0);
      if (!best || turn < best.turn || (turn === best.turn && chunk.due < best.chunk.due))
        best = { queue, chunk, turn };
    }
    if (!isFull && cutAt < (best?.turn ?? Number.POSITIVE_INFINITY))
      return { chunks: chosen, isTruncated: true };
    if (!best) return { chunks: chosen, isTruncated: false };
    hurried ||= isFull;
    best.queue.at++;
    best.queue.start += advance(best.chunk.est, best.queue.weight);
    count(best.chunk, suspects);
    lines += best.chunk.lines;
    chosen.push(best.chunk);
  }
}

/** How far so many tokens carry an org in virtual time. */
export function advance(est: number, weight: number): number {
  return Math.ceil(est / weight);
}

/** Whether there is room for a chunk that may be a suspect. */
export function mayTake(
  { kills }: ReadyChunk,
  { minKills: from, max: most, mayTakeAlone: alone }: SuspectAllowance,
): boolean {
  if (kills < from) return true;
  return kills === from ? most > 0 : alone;
}

function count({ kills }: ReadyChunk, suspects: SuspectAllowance): void {
  if (kills < suspects.minKills) return;
  suspects.max = kills === suspects.minKills ? suspects.max - 1 : 0;
  suspects.mayTakeAlone = false;
}
