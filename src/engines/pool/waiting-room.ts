import type { Timer } from '../../base/clock.ts';
import { onAbort } from '../../base/on-abort.ts';
import { Turns } from '../../base/turns.ts';
import type { EngineCall } from '../engines.ts';

interface Waiter<Place> {
  find: () => Place | undefined;
  enter: (place: Place) => void;
  refuse: (reason: unknown) => void;
}

/** Who waits for a place: interactive work before batch work, and of each one org after the other. */
export class WaitingRoom<Place> {
  readonly #turns: Record<EngineCall['priority'], Turns<Waiter<Place>>> = {
    interactive: new Turns(),
    batch: new Turns(),
  };

  count(priority: EngineCall['priority']): number {
    return this.#turns[priority].count;
  }

  /**
   * Makes room for a request of `org`: refuses the newest request of the org with the most waiting, unless `org` would then
   * have as many. An org without waiting requests always gets room.
   */
  makeRoom(priority: EngineCall['priority'], org: string, reason: unknown): boolean {
    const turns = this.#turns[priority];
    const own = turns.countOf(org);
    const longest = turns.longest();
    if (longest === undefined || turns.countOf(longest) <= own + 1) return own === 0;
    turns.newestOf(longest)!.refuse(reason);
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
      for (let next = turns.first(); next; next = turns.first()) {
        const place = next[1].find();
        if (place === undefined) return;
        // Its org goes behind the others.
        turns.done(...next);
        next[1].enter(place);
      }
  }

  /** Turns all of a priority away. */
  refuse(priority: EngineCall['priority'], reason: unknown): void {
    const turns = this.#turns[priority];
    for (let next = turns.first(); next; next = turns.first()) next[1].refuse(reason);
  }
}
