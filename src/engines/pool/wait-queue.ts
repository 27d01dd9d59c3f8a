import type { Timer } from '../../base/clock.ts';
import { onAbort } from '../../base/on-abort.ts';
import { RoundRobinQueue } from '../../base/round-robin-queue.ts';
import type { EngineCall } from '../engines.ts';

interface Waiter<Place> {
  find: () => Place | undefined;
  enter: (place: Place) => void;
  refuse: (reason: unknown) => void;
}

/** Who waits for a place: interactive work before batch work, and of each one org after the other. */
export class WaitQueue<Place> {
  readonly #turns: Record<EngineCall['priority'], RoundRobinQueue<Waiter<Place>>> = {
    interactive: new RoundRobinQueue(),
    batch: new RoundRobinQueue(),
  };

  count(priority: EngineCall['priority']): number {
    return this.#turns[priority].size;
  }

  /**
   * Makes room for a request of `org`: refuses the newest request of the org with the most waiting, unless `org` would then
   * have as many. An org without waiting requests always gets room.
   */
  makeRoom(priority: EngineCall['priority'], org: string, reason: unknown): boolean {
    const turns = this.#turns[priority];
    const own = turns.countFor(org);
    const longest = turns.longestOwner();
    if (longest === undefined || turns.countFor(longest) <= own + 1) return own === 0;
    turns.newestFor(longest)!.refuse(reason);
    return true;
  }

  /**
   * Waits for the call's turn.
   * @param find a place that suits it, if there is one
   * @param patience starts the timer that refuses it
   * @throws the reason of the call's signal, or why it was refused
   */
  wait(
    { priority, org = '', signal }: EngineCall,
    find: () => Place | undefined,
    patience: (refuse: (reason: unknown) => void) => Timer | null,
  ): Promise<Place> {
    const turns = this.#turns[priority];
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer?.cancel();
        forget();
        turns.remove(org, waiter);
      };
      const waiter: Waiter<Place> = {
        find,
        enter(place) {
          leave();
          resolve(place);
        },
        refuse(reason) {
          leave();
          reject(reason);
        },
      };
      const forget = onAbort(signal, () => waiter.refuse(signal.reason));
      const timer = patience(waiter.refuse);
      turns.add(org, waiter);
    });
  }

  /** Lets in whoever has a place, until one in turn finds none. */
  admit(): void {
    for (const turns of [this.#turns.interactive, this.#turns.batch])
      for (let next = turns.peek(); next; next = turns.peek()) {
        const place = next[1].find();
        if (place === undefined) return;
        // Its org goes behind the others.
        turns.dequeue(...next);
        next[1].enter(place);
      }
  }

  /** Turns all of a priority away. */
  refuse(priority: EngineCall['priority'], reason: unknown): void {
    const turns = this.#turns[priority];
    for (let next = turns.peek(); next; next = turns.peek()) next[1].refuse(reason);
  }
}
