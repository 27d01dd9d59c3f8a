import type { Fairness } from '../queue/fairness.ts';
import type { ClaimedChunk, ClaimedChunks, RunningBatch } from '../claimed/claimed-chunks.ts';
import type { SlotPrefixes } from '../claimed/prefix-affinity.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';

/**
 * The chunk whose next line is sent now (batch-engine.md, "Running"): the org served least, the least `due`, then the chunk
 * with the fewest in flight, so that caches kept per slot see one prefix each. Chunks whose prefix has a leader under way
 * come last. With lanes, a prefix that no line is in flight of comes first, and among those one that is in a slot still.
 */
export function nextChunk(
  chunks: ClaimedChunks,
  model: string,
  fairness: Pick<Fairness, 'served'>,
  leaders: Pick<PrefixWarmup, 'shouldWait'>,
  lanes: SlotPrefixes | null = null,
  mayRun: (batch: RunningBatch) => boolean = () => true,
): ClaimedChunk | undefined {
  let best: ClaimedChunk | undefined;
  let bestWaits = false;
  for (const candidate of chunks.all) {
    if (candidate.model !== model || candidate.todo.length === 0 || candidate.batch.stopping) continue;
    if (lanes?.isFull(candidate) || !mayRun(candidate.batch)) continue;
    const waits = leaders.shouldWait(model, candidate.chunk.prefix);
    if (best && (waits === bestWaits ? !comesBefore(candidate, best) : waits)) continue;
    best = candidate;
    bestWaits = waits;
  }
  return best;

  /** Asked for a few chunks at each line: it stops at the first difference, and allocates nothing. */
  function comesBefore(a: ClaimedChunk, b: ClaimedChunk): boolean {
    const order =
      (a.batch === b.batch ? 0 : served(a) - served(b) || a.batch.due - b.batch.due) ||
      (lanes
        ? lanes.inFlight(a) - lanes.inFlight(b) || Number(lanes.isCold(a)) - Number(lanes.isCold(b))
        : 0) ||
      a.inFlight - b.inFlight ||
      a.chunk.seq - b.chunk.seq;
    return order < 0;
  }

  function served({ batch }: ClaimedChunk): number {
    return fairness.served(batch.orgId);
  }
}
