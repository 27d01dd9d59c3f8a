import type { Fared } from '../../core/fared.ts';

/**
 * How requests of a model fared, whoever sent them: by it one tells whether what fails again and again is at fault itself, or its
 * servers are. Failures in a row are one, whose requests may have failed together: only the one with which they began counts.
 */
export class Outcomes implements Fared {
  workedAt = Number.NEGATIVE_INFINITY;
  answers = 0;
  breaks = 0;
  /** Whether the failures that are under way count among the breaks. */
  isBreak = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  /** @param sentAt in monotonic milliseconds */
  answered(sentAt: number): void {
    this.answers++;
    this.workedAt = Math.max(this.workedAt, sentAt);
  }

  /** @param isRepeat of a line that had failed before, and tells nothing new */
  failed(at: number, isRepeat: boolean): void {
    if (this.workedAt >= this.#failedAt) {
      this.isBreak = !isRepeat;
      if (this.isBreak) this.breaks++;
    }
    this.#failedAt = at;
  }
}
