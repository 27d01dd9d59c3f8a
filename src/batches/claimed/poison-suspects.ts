import type { Clock } from '../../base/clock.ts';
import type { SuspectAllowance } from '../../core/fair-queueing.ts';
import type { ClaimedChunks } from './claimed-chunks.ts';

/**
 * A request may kill the process that runs it (batch-engine.md, "Poison"). A chunk whose owners died this often is taken
 * apart into single lines, of which few run at a time.
 */
export const suspectKills = 2;

/**
 * A line that is given up: as a suspect it was running at two more deaths, the last time alone. One would do if only poison
 * killed processes, but operators do too, and an innocent line that was unlucky three times must not be lost.
 */
export const poisonKills = 4;

/**
 * How long a process has lived before it runs such a line alone for the last time. Where processes are killed one after the
 * other for whatever other reason, none of them comes to that; one that lived so long and then dies tells against the line.
 */
export const settledMs = 60_000;

/**
 * How many suspects run at a time (batch-engine.md, "Poison"). A process begins with one and takes one more for each that
 * was answered, so that a batch whose processes were killed for other reasons is soon as fast as before, while poison
 * takes little with it. Who was running at a further death runs alone, in a process that has lived for a while: its next
 * one tells.
 */
export class PoisonSuspects {
  #chunks: ClaimedChunks;
  #clock: Pick<Clock, 'monotonic'>;
  #settledAt: number;
  #atOnce = 1;

  constructor(chunks: ClaimedChunks, clock: Pick<Clock, 'monotonic'>) {
    this.#chunks = chunks;
    this.#clock = clock;
    this.#settledAt = clock.monotonic() + settledMs;
  }

  /** How many more may be claimed. */
  get room(): SuspectAllowance {
    const running = this.#chunks.suspects;
    const alone = running.some((claimed) => claimed.chunk.kills > suspectKills);
    return {
      minKills: suspectKills,
      max: alone ? 0 : Math.max(0, this.#atOnce - running.length),
      mayTakeAlone: running.length === 0 && this.#clock.monotonic() >= this.#settledAt,
    };
  }

  /** One of them ended and nothing died. */
  answered(): void {
    this.#atOnce++;
  }
}
