import type { Clock } from '../../base/clock.ts';

/** Upper bound for the time between two turns of a batch that shares slots with others. */
const turnMs = 10_000;

/** Batches that had lines in flight in this process a moment ago: they are between two turns, and not waiting. */
export class RecentRuns {
  #clock: Pick<Clock, 'monotonic'>;
  /** Instants at which the last line of each batch ended, oldest first. */
  #landed = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes that a line of a batch has ended. */
  landed(batchId: string): void {
    const now = this.#clock.monotonic();
    this.#landed.delete(batchId);
    this.#landed.set(batchId, now);
    for (const [id, at] of this.#landed) {
      if (now - at < turnMs) break;
      this.#landed.delete(id);
    }
  }

  has(batchId: string): boolean {
    return this.#clock.monotonic() - (this.#landed.get(batchId) ?? Number.NEGATIVE_INFINITY) < turnMs;
  }
}
