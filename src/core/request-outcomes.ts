/** Outcomes of a model's requests so far, of interactive ones too. */
export interface RequestOutcomes {
  /**
   * Send time of the latest request that was answered, in monotonic milliseconds. A request that failed before this time and fails
   * again after it is at fault itself.
   */
  readonly workedAt: number;
  readonly answers: number;
  /** Runs of failures that began with a request that had not failed before. */
  readonly breaks: number;
  /** True while a run of failures lasts that `breaks` counts. */
  readonly isBreak: boolean;
}
