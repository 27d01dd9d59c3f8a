import { goesAhead } from '../../core/late-work.ts';
import { compareUrgency, isLate } from '../../core/urgency.ts';
import type { VirtualTimes } from '../queue/fairness.ts';
import {
  type ClaimedChunk,
  type ClaimedChunks,
  inFlightOf,
  type RunningBatch,
} from '../claimed/claimed-chunks.ts';
import type { SlotPrefixes } from '../claimed/prefix-affinity.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';

export interface NextChunk {
  claimed: ClaimedChunk;
  /** True if it is late, and goes before the turn of its org. */
  isAhead: boolean;
}

/**
 * Chooses the chunk whose next line is sent (batch-engine.md, "Running"): of the org with the least virtual time, then with the lowest `due`,
 * then with the fewest lines in flight, so that a cache per slot sees one prefix each. Late chunks may go before the turn of their org.
 * Chunks that wait for a cache warm-up come last. With cache affinity, prefixes without a line in flight come first, and those still in
 * a slot before cold ones.
 */
export function nextChunk(
  chunks: ClaimedChunks,
  model: string,
  times: Pick<VirtualTimes, 'served' | 'owed'>,
  warmup: Pick<PrefixWarmup, 'shouldWait'>,
  prefixes: SlotPrefixes | null = null,
  mayRun: (batch: RunningBatch) => boolean = () => true,
): NextChunk | undefined {
  let best: ClaimedChunk | undefined;
  let bestWaits = false;
  let late: ClaimedChunk | undefined;
  for (const candidate of chunks.all) {
    if (candidate.model !== model || candidate.queue.length === 0) continue;
    if (prefixes?.isFull(candidate) || !mayRun(candidate.batch)) continue;
    const waits = warmup.shouldWait(model, candidate.chunk.prefix);
    if (!waits && isLate(candidate.batch.due) && (!late || comesBefore(candidate, late))) late = candidate;
    if (best && (waits === bestWaits ? !comesBefore(candidate, best) : waits)) continue;
    best = candidate;
    bestWaits = waits;
  }
  if (!best) return undefined;
  const first = { start: served(best) };
  const isAhead = late !== undefined && goesAhead(first, { start: served(late) }, times.owed);
  return isAhead ? { claimed: late!, isAhead: late !== best } : { claimed: best, isAhead: false };

  /** Runs for every candidate of every line, so it stops at the first difference and allocates nothing. */
  function comesBefore(a: ClaimedChunk, b: ClaimedChunk): boolean {
    const order =
      (a.batch === b.batch ? 0 : served(a) - served(b) || compareUrgency(a.batch, b.batch)) ||
      (prefixes
        ? prefixes.inFlight(a) - prefixes.inFlight(b) ||
          Number(prefixes.isCold(a)) - Number(prefixes.isCold(b))
        : 0) ||
      inFlightOf(a) - inFlightOf(b) ||
      a.chunk.seq - b.chunk.seq;
    return order < 0;
  }

  function served({ batch }: ClaimedChunk): number {
    return times.served(batch.orgId);
  }
}
