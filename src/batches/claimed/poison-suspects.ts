import type { Clock } from '../../base/clock.ts';
import type { SuspectAllowance } from '../../core/fair-queueing.ts';
import type { ClaimedChunks } from './claimed-chunks.ts';

/** Deaths of its owners after which a chunk is split into single lines, of which few run at a time: a request may have killed them. */
export const suspectKills = 2;

/**
 * Deaths after which a line is given up: as a suspect it was running at two more, the last time alone. Operators kill
 * processes too, so an innocent line can be unlucky three times.
 */
export const poisonKills = 4;

/**
 * Uptime in milliseconds after which a process runs a suspect alone for the last time. Processes that are killed in a row for
 * another reason never reach it; a death after it is evidence against the line.
 */
export const settledMs = 60_000;

/**
 * Limits the suspects that run at a time (batch-engine.md, "Poison"). A process starts with one and adds one for each answer:
 * batches whose processes died for other reasons soon run at full speed, while poison takes little with it. A suspect that was
 * running at a further death runs alone, in a settled process.
 */
export class PoisonSuspects {
  #chunks: ClaimedChunks;
  #clock: Pick<Clock, 'monotonic'>;
  #settledAt: number;
  #maxRunning = 1;

  constructor(chunks: ClaimedChunks, clock: Pick<Clock, 'monotonic'>) {
    this.#chunks = chunks;
    this.#clock = clock;
    this.#settledAt = clock.monotonic() + settledMs;
  }

  get room(): SuspectAllowance {
    const running = this.#chunks.suspects;
    const alone = running.some((claimed) => claimed.chunk.kills > suspectKills);
    return {
      minKills: suspectKills,
      max: alone ? 0 : Math.max(0, this.#maxRunning - running.length),
      mayTakeAlone: running.length === 0 && this.#clock.monotonic() >= this.#settledAt,
    };
  }

  /** Counts a suspect that ended without killing this process. */
  answered(): void {
    this.#maxRunning++;
  }
}
