import type { HeldChunks } from './held-chunks.ts';
import { suspectKills } from './poison.ts';

/**
 * How many suspects run at a time (batch-engine.md, "Poison"). A process begins with one and takes one more for each that
 * was answered, so that a batch whose processes were killed for other reasons is soon as fast as before, while poison
 * takes little with it. Who was running at a further death runs alone: its next one tells.
 */
export class Suspects {
  #held: HeldChunks;
  #atOnce = 1;

  constructor(held: HeldChunks) {
    this.#held = held;
  }

  /** Whether a single line whose owners died `kills` times may run beside what is in hand. */
  mayRun(kills: number): boolean {
    const running = this.#held.suspects;
    if (running.length === 0) return true;
    const most = Math.max(kills, ...running.map((held) => held.chunk.kills));
    return most <= suspectKills && running.length < this.#atOnce;
  }

  /** One of them ended and nothing died. */
  answered(): void {
    this.#atOnce++;
  }
}
