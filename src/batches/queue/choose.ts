import type { Candidate } from '../../store/store.ts';

/** What the choice looks at besides the candidates. */
export interface Situation {
  /** Models that can take more lines now. */
  wanted: ReadonlySet<string>;
  /** Virtual time of an org: the tokens it was served, divided by its weight. */
  served(orgId: string): number;
}

/**
 * The next chunk's batch and model (batch-engine.md, "Choosing and claiming"): among models with room, the org that was
 * served least, and of that org the least `due`. Pure; the database's order breaks ties.
 */
export function choose(candidates: readonly Candidate[], situation: Situation): Candidate | undefined {
  let best: Candidate | undefined;
  let bestServed = 0;
  for (const candidate of candidates) {
    if (!situation.wanted.has(candidate.model)) continue;
    const served = situation.served(candidate.orgId);
    if (best === undefined || served < bestServed || (served === bestServed && candidate.due < best.due)) {
      best = candidate;
      bestServed = served;
    }
  }
  return best;
}
