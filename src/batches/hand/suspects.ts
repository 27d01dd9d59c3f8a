import type { Clock } from '../../base/clock.ts';
import type { SuspectRoom } from '../../core/fair-choice.ts';
import type { HeldChunks } from './held-chunks.ts';
import { settledMs, suspectKills } from './poison.ts';

/**
 * How many suspects run at a time (batch-engine.md, "Poison"). A process begins with one and takes one more for each that
 * was answered, so that a batch whose processes were killed for other reasons is soon as fast as before, while poison
 * takes little with it. Who was running at a further death runs alone, in a process that has lived for a while: its next
 * one tells.
 */
export class Suspects {
  #held: HeldChunks;
  #clock: Pick<Clock, 'monotonic'>;
  #settledAt: number;
  #atOnce = 1;

  constructor(held: HeldChunks, clock: Pick<Clock, 'monotonic'>) {
    this.#held = held;
    this.#clock = clock;
    this.#settledAt = clock.monotonic() + settledMs;
  }

  /** How many more may be claimed. */
  get room(): SuspectRoom {
    const running = this.#held.suspects;
    const alone = running.some((held) => held.chunk.kills > suspectKills);
    return {
      from: suspectKills,
      most: alone ? 0 : Math.max(0, this.#atOnce - running.length),
      alone: running.length === 0 && this.#clock.monotonic() >= this.#settledAt,
    };
  }

  /** One of them ended and nothing died. */
  answered(): void {
    this.#atOnce++;
  }
}
