export interface DutyClaim {
  /** Milliseconds of the database's time after which the lease lapses. */
  lifeMs: number;
  /** False to return the lease, or to leave it to others. */
  mayTake: boolean;
  /** Models at risk that a holder reports, by id. */
  atRisk: readonly string[];
}

/** The lease on the work that one process does for all. */
export interface DutyStore {
  /** Takes or renews the lease, unless another process holds it. Returns the state of the lease then. */
  hold(worker: string, claim: DutyClaim): Promise<{ isHolder: boolean; atRisk: string[] }>;
}
