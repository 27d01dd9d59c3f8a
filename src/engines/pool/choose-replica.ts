export interface Candidate {
  /** Name of the replica, for the hash. */
  readonly name: string;
  readonly inFlight: number;
  /** Limit of requests in flight, times the weight. */
  readonly capacity: number;
  /** Pace relative to the other replicas; 1 where they are alike. */
  readonly slowness: number;
  /**
   * Order among equally loaded replicas. Processes that share the servers need different ones: in the same order, each would send its few
   * lines to the same first servers of many, and leave the last ones idle.
   */
  readonly rank: number;
}

/** A replica with this much more than its share of the load gets no requests by prefix. */
const maxOverload = 1.25;
/** Largest effect of slowness on the load. */
const maxSlowness = 4;

/**
 * Replica for a request. Requests with one prefix go to the same replica while its load stays near its share (rendezvous
 * hashing with bounded loads); others go to the least loaded one, where a slow replica counts as fuller.
 * @param free replicas with room
 * @param all replicas that take requests, with or without room
 */
export function chooseReplica<T extends Candidate>(
  free: readonly T[],
  all: readonly T[],
  prefix: string,
): T | undefined {
  if (free.length <= 1) return free[0];
  if (prefix !== '') {
    const inFlight = sum(all, (replica) => replica.inFlight) + 1;
    const capacity = sum(all, (replica) => replica.capacity);
    const belowShare = free.filter(
      (replica) => replica.inFlight < Math.ceil((maxOverload * inFlight * replica.capacity) / capacity),
    );
    const home = best(belowShare, (replica) => affinity(prefix, replica));
    if (home) return home;
  }
  return best(
    free,
    (replica) => -load(replica),
    (replica) => replica.rank,
  );
}

function load({ inFlight, capacity, slowness }: Candidate): number {
  return ((inFlight + 1) / capacity) * Math.min(maxSlowness, Math.max(1, slowness));
}

/** Rendezvous score of a replica. It grows with the capacity, so that a large replica is home to more prefixes. */
function affinity(prefix: string, { name, capacity }: Candidate): number {
  const uniform = (hash(`${prefix}\0${name}`) + 0.5) / 2 ** 32;
  return -capacity / Math.log(uniform);
}

/** FNV-1a with a final mix, so that names that differ in one character hash far apart. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 0;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** Item with the highest score; among equal ones, that of the lowest rank. */
function best<T>(
  items: readonly T[],
  score: (item: T) => number,
  rank: (item: T) => number = () => 0,
): T | undefined {
  let found: T | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = score(item);
    if (value < highest || (value === highest && found !== undefined && rank(item) >= rank(found))) continue;
    highest = value;
    found = item;
  }
  return found;
}
