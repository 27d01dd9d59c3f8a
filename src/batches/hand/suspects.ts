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

  /** How often the owners of what is claimed next may have died; undefined when that does not matter. */
  mostKills(): number | undefined {
    const running = this.#held.suspects;
    if (running.length === 0) return undefined;
    const alone = running.some((held) => held.chunk.kills > suspectKills);
    return alone || running.length >= this.#atOnce ? suspectKills - 1 : suspectKills;
  }

  /** One of them ended and nothing died. */
  answered(): void {
    this.#atOnce++;
  }
}
