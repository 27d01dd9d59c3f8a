/** Work that one process at a time does for all processes on a database. */
export interface Duties {
  /** True while this process certainly has the lease on the work. */
  isHolder(): boolean;
  /** Ids of the models with batches that are expected to miss their windows, as the holder found them. */
  readonly atRisk: ReadonlySet<string>;
  /** Reports the models at risk to the other processes. */
  reportAtRisk(models: ReadonlySet<string>): void;
}

/** Duties of a process that has the database for itself. */
export function soleDuties(): Duties {
  let atRisk: ReadonlySet<string> = new Set();
  return {
    isHolder: () => true,
    get atRisk() {
      return atRisk;
    },
    reportAtRisk: (models) => void (atRisk = models),
  };
}
