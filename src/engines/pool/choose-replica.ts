/** What the choice looks at. */
export interface Candidate {
  /** The name of the replica, for the hash. */
  readonly name: string;
  readonly inFlight: number;
  /** In flight at most, times its weight. */
  readonly capacity: number;
  /** How slow it has been against the others; 1 where they are alike. */
  readonly slowness: number;
}

/** A replica that has this much more than its share gets none of a prefix's requests. */
const bound = 1.25;
/** How much less a slow replica may get. */
const mostSlowness = 4;

/**
 * The replica for a request: requests that share a prefix go where its first ones went, as long as that one has no more than
 * its share (rendezvous hashing with bounded loads); others go to the least loaded, of which a slow one counts as fuller.
 * @param free replicas that have room
 * @param all replicas that take requests, with room or without
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
    const unburdened = free.filter(
      (replica) => replica.inFlight < Math.ceil((bound * inFlight * replica.capacity) / capacity),
    );
    const home = best(unburdened, (replica) => affinity(prefix, replica));
    if (home) return home;
  }
  return best(free, (replica) => -load(replica));
}

function load({ inFlight, capacity, slowness }: Candidate): number {
  return ((inFlight + 1) / capacity) * Math.min(mostSlowness, Math.max(1, slowness));
}

/** Grows with the capacity, so that a large replica is home to more prefixes. */
function affinity(prefix: string, { name, capacity }: Candidate): number {
  const uniform = (hash(`${prefix}\0${name}`) + 0.5) / 2 ** 32;
  return -capacity / Math.log(uniform);
}

/** FNV-1a with a last mix: names that differ in one character come far apart. */
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

function best<T>(items: readonly T[], score: (item: T) => number): T | undefined {
  let found: T | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = score(item);
    if (value <= most) continue;
    most = value;
    found = item;
  }
  return found;
}
