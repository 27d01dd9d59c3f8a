import type { RequestOutcomes } from '../../../core/request-outcomes.ts';

/**
 * Outcomes of a model's requests, interactive ones and batch lines. They separate a request that is at fault itself from a
 * server that is. Failures in a row count once, because they may have one cause.
 */
export class Outcomes implements RequestOutcomes {
  workedAt = Number.NEGATIVE_INFINITY;
  answers = 0;
  breaks = 0;
  isBreak = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  /** @param sentAt in monotonic milliseconds */
  answered(sentAt: number): void {
    this.answers++;
    this.workedAt = Math.max(this.workedAt, sentAt);
  }

  /** @param isRepeat true for a line that failed before, which says nothing new about the server */
  failed(at: number, isRepeat: boolean): void {
    if (this.workedAt >= this.#failedAt) {
      this.isBreak = !isRepeat;
      if (this.isBreak) this.breaks++;
    }
    this.#failedAt = at;
  }
}
