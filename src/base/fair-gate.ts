import { RoundRobinQueue } from './round-robin-queue.ts';

export interface FairGateOptions {
  /** Total weight that may be inside. */
  capacity: number;
  /** Weight of one owner that may be inside. */
  maxPerOwner: number;
  /** Owner that goes before all others while it waits, except for one turn in four. */
  priorityOwner?: string;
  /** Entries of one owner that may wait; unlimited by default. */
  maxWaiting?: number;
  /** Makes the error to throw when more would wait. */
  fullError?: () => Error;
}

/** Turns of the priority owner in a row while others wait. */
const maxPriorityTurns = 3;

export type FairGate = ReturnType<typeof createFairGate>;
/** Gate for work that runs inside. */
export type Gate = Pick<FairGate, 'within'>;

interface Entry {
  weight: number;
  admit: () => void;
}

/** Semaphore that shares capacity (bytes, turns) fairly among owners, so that one heavy owner cannot starve the others. */
export function createFairGate({
  capacity,
  maxPerOwner,
  priorityOwner,
  maxWaiting = Infinity,
  fullError = () => new Error('Too many entries wait already.'),
}: FairGateOptions) {
  const waiting = new RoundRobinQueue<Entry>();
  const held = new Map<string, number>();
  let used = 0;
  let priorityTurns = 0;

  const isWithinShare = (owner: string, weight: number) => {
    const own = held.get(owner) ?? 0;
    return own === 0 || own + weight <= maxPerOwner;
  };
  const fits = (weight: number) => used === 0 || used + weight <= capacity;

  function take(owner: string, weight: number): () => void {
    used += weight;
    held.set(owner, (held.get(owner) ?? 0) + weight);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      used -= weight;
      const own = held.get(owner)! - weight;
      if (own > 0) held.set(owner, own);
      else held.delete(owner);
      admitWaiting();
    };
  }

  /** Next entry among owners below their share. */
  const next = () => {
    const may = (owner: string, { weight }: Entry) => isWithinShare(owner, weight);
    if (priorityOwner === undefined || waiting.countFor(priorityOwner) === 0) return waiting.peek(may);
    // Others would starve under a load that fills the capacity.
    const isFirst = priorityTurns < maxPriorityTurns;
    return (
      waiting.peek((owner, entry) => (owner === priorityOwner) === isFirst && may(owner, entry)) ??
      waiting.peek(may)
    );
  };

  function admitWaiting(): void {
    for (let turn = next(); turn && fits(turn[1].weight); turn = next()) {
      waiting.dequeue(...turn);
      const passes = turn[0] === priorityOwner && waiting.size > waiting.countFor(turn[0]);
      priorityTurns = passes ? priorityTurns + 1 : 0;
      turn[1].admit();
    }
  }

  /** Enters without waiting; undefined when there is no capacity now. */
  function tryEnter(owner: string, weight: number): (() => void) | undefined {
    const isNext = waiting.countFor(owner) === 0 && next() === undefined;
    return isNext && isWithinShare(owner, weight) && fits(weight) ? take(owner, weight) : undefined;
  }

  /**
   * Waits for capacity: owners in round robin, each owner's entries in order. Light entries never overtake, so heavy ones do not
   * starve. An entry heavier than the capacity enters alone.
   * @returns function that releases the capacity
   * @throws the error of `fullError`, or the reason of the signal
   */
  async function enter(owner: string, weight: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const leave = tryEnter(owner, weight);
    if (leave) return leave;
    if (waiting.countFor(owner) >= maxWaiting) throw fullError();
    return new Promise((resolve, reject) => {
      const entry: Entry = {
        weight,
        admit() {
          signal?.removeEventListener('abort', giveUp);
          resolve(take(owner, weight));
        },
      };
      const giveUp = () => {
        waiting.remove(owner, entry);
        reject(signal!.reason as Error);
        admitWaiting();
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      waiting.add(owner, entry);
    });
  }

  return {
    tryEnter,
    enter,
    /** Runs `work` inside. */
    async within<T>(
      owner: string,
      weight: number,
      signal: AbortSignal | undefined,
      work: () => Promise<T>,
    ): Promise<T> {
      const leave = await enter(owner, weight, signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
