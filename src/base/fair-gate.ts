import { RoundRobinQueue } from './round-robin-queue.ts';

/** What is at hand for all, and how much of it one owner may have at once. */
export interface FairGateOptions {
  capacity: number;
  maxPerOwner: number;
  /** The owner that goes before all others, as long as it waits. */
  priorityOwner?: string;
  /** Entries of one owner that may wait; any number if absent. */
  maxWaiting?: number;
  /** What is thrown when more would wait. */
  fullError?: () => Error;
}

export type FairGate = ReturnType<typeof createFairGate>;

interface Entry {
  weight: number;
  admit: () => void;
}

/** Shares room (bytes, turns) among owners, so that one that asks for much cannot keep the others from theirs. */
export function createFairGate({
  capacity: room,
  maxPerOwner: each,
  priorityOwner: first,
  maxWaiting: mostWaiting = Infinity,
  fullError: full = () => new Error('Too much waits already.'),
}: FairGateOptions) {
  const waiting = new RoundRobinQueue<Entry>();
  const held = new Map<string, number>();
  let used = 0;

  const mayHave = (owner: string, weight: number) => {
    const own = held.get(owner) ?? 0;
    return own === 0 || own + weight <= each;
  };
  const isThere = (weight: number) => used === 0 || used + weight <= room;

  function take(owner: string, weight: number): () => void {
    used += weight;
    held.set(owner, (held.get(owner) ?? 0) + weight);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      used -= weight;
      const own = held.get(owner)! - weight;
      if (own > 0) held.set(owner, own);
      else held.delete(owner);
      admitWaiting();
    };
  }

  /** Whose turn it is, of the owners that may have more. */
  const next = () => {
    const may = (owner: string, { weight }: Entry) => mayHave(owner, weight);
    const before = first !== undefined && waiting.countFor(first) > 0;
    return (
      (before && waiting.peek((owner, entry) => owner === first && may(owner, entry))) || waiting.peek(may)
    );
  };

  function admitWaiting(): void {
    for (let turn = next(); turn && isThere(turn[1].weight); turn = next()) {
      waiting.dequeue(...turn);
      turn[1].admit();
    }
  }

  /** Enters without waiting: undefined when there is no room now. */
  function tryEnter(owner: string, weight: number): (() => void) | undefined {
    const isNext = waiting.countFor(owner) === 0 && next() === undefined;
    return isNext && mayHave(owner, weight) && isThere(weight) ? take(owner, weight) : undefined;
  }

  /**
   * Waits until there is room. Whoever waits longest of its owner goes first, and owners take turns; nobody passes the one
   * whose turn it is, so that what needs much room is not starved by what needs little. What needs more than there ever is
   * goes alone.
   * @returns gives the room back, once
   * @throws what `full` makes, or the reason of the signal
   */
  async function enter(owner: string, weight: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const leave = tryEnter(owner, weight);
    if (leave) return leave;
    if (waiting.countFor(owner) >= mostWaiting) throw full();
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
    /** Waits likewise, and gives the room back once the work is over. */
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
