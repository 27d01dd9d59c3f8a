/** Batch lines that a pause stops: of a model, of an org, of an org for a model, or all. */
export interface PauseScope {
  /** Model id; null for all models. */
  model: string | null;
  /** Null for all orgs. */
  orgId: string | null;
}

/** Pause of batch lines by an operator. */
export interface BatchPause extends PauseScope {
  /** Epoch milliseconds. */
  since: number;
  /** Key of the operator. */
  keyId: string;
}

/** Replica that an operator drains. The configuration may not list it any more. */
export interface ReplicaDrain {
  id: string;
  model: string;
  /** Name of the replica, without credentials. */
  server: string;
  /** Epoch milliseconds. */
  since: number;
  /** Key of the operator. */
  keyId: string;
}

/** Cap of an operator on the requests in flight of a replica. The configuration may not list it any more. */
export interface ReplicaCap extends ReplicaDrain {
  /** At least 1. */
  maxInFlight: number;
}

/** Earliest pause that stops the lines of an org, or those of all orgs, for a model. */
export function findPause(
  pauses: readonly BatchPause[],
  lines: { orgId: string | null; model: string },
): BatchPause | null {
  let found: BatchPause | null = null;
  for (const pause of pauses) {
    const isMeant = pause.model === null || pause.model === lines.model;
    if (!isMeant || (pause.orgId !== null && pause.orgId !== lines.orgId)) continue;
    if (found === null || pause.since < found.since) found = pause;
  }
  return found;
}
