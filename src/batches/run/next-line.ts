import type { Fairness } from '../queue/fairness.ts';
import type { HeldChunk, HeldChunks, RunningBatch } from '../hand/held-chunks.ts';
import type { LanesNow } from '../hand/prefix-lanes.ts';
import type { PrefixLeaders } from './prefix-leaders.ts';

/**
 * The chunk whose next line is sent now (batch-engine.md, "Running"): the org served least, the least `due`, then the chunk
 * with the fewest in flight, so that caches kept per slot see one prefix each. Chunks whose prefix has a leader under way
 * come last. With lanes, a prefix that no line is in flight of comes first, and among those one that is in a slot still.
 */
export function nextChunk(
  held: HeldChunks,
  model: string,
  fairness: Pick<Fairness, 'served'>,
  leaders: Pick<PrefixLeaders, 'shouldWait'>,
  lanes: LanesNow | null = null,
  mayRun: (batch: RunningBatch) => boolean = () => true,
): HeldChunk | undefined {
  let best: HeldChunk | undefined;
  let bestRank: Rank | undefined;
  for (const candidate of held.chunks) {
    if (candidate.model !== model || candidate.todo.length === 0 || candidate.batch.stopping) continue;
    if (lanes?.isFull(candidate) || !mayRun(candidate.batch)) continue;
    const { chunk, batch, inFlight } = candidate;
    const rank: Rank = [
      leaders.shouldWait(model, chunk.prefix) ? 1 : 0,
      fairness.served(batch.orgId),
      batch.due,
      lanes?.inFlight(candidate) ?? 0,
      lanes?.isCold(candidate) ? 1 : 0,
      inFlight,
      chunk.seq,
    ];
    if (bestRank && !comesBefore(rank, bestRank)) continue;
    best = candidate;
    bestRank = rank;
  }
  return best;
}

type Rank = [
  waits: number,
  served: number,
  due: number,
  sharing: number,
  cold: number,
  inFlight: number,
  seq: number,
];

function comesBefore(a: Rank, b: Rank): boolean {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return a[at]! < b[at]!;
  return false;
}
