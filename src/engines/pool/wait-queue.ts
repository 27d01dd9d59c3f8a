import type { Timer } from '../../base/clock.ts';
import { onAbort } from '../../base/on-abort.ts';
import { RoundRobinQueue } from '../../base/round-robin-queue.ts';
import type { EngineCall } from '../engines.ts';

interface Waiter<Reservation> {
  find: () => Reservation | undefined;
  admit: (reservation: Reservation) => void;
  reject: (reason: unknown) => void;
}

/** Requests that wait for a reservation: interactive ones first, and within a priority one org after the other. */
export class WaitQueue<Reservation> {
  readonly #queues: Record<EngineCall['priority'], RoundRobinQueue<Waiter<Reservation>>> = {
    interactive: new RoundRobinQueue(),
    batch: new RoundRobinQueue(),
  };

  count(priority: EngineCall['priority']): number {
    return this.#queues[priority].size;
  }

  /**
   * Makes room for a request of `org` in a full queue: rejects the newest request of the org with the most waiting, unless
   * `org` would then have as many. An org without waiting requests always gets room.
   */
  makeRoom(priority: EngineCall['priority'], org: string, reason: unknown): boolean {
    const queue = this.#queues[priority];
    const own = queue.countFor(org);
    const longest = queue.longestOwner();
    if (longest === undefined || queue.countFor(longest) <= own + 1) return own === 0;
    queue.newestFor(longest)!.reject(reason);
    return true;
  }

  /** Waits for the call's turn and a reservation by `find`. @throws the reason of the call's signal or of the rejection */
  wait(
    { priority, org = '', signal }: EngineCall,
    find: () => Reservation | undefined,
    startTimer: (reject: (reason: unknown) => void) => Timer | null,
  ): Promise<Reservation> {
    const queue = this.#queues[priority];
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer?.cancel();
        unsubscribe();
        queue.remove(org, waiter);
      };
      const waiter: Waiter<Reservation> = {
        find,
        admit(reservation) {
          leave();
          resolve(reservation);
        },
        reject(reason) {
          leave();
          reject(reason);
        },
      };
      const unsubscribe = onAbort(signal, () => waiter.reject(signal.reason));
      const timer = startTimer(waiter.reject);
      queue.add(org, waiter);
    });
  }

  /** Admits requests in turn until one finds no reservation. */
  admit(): void {
    for (const queue of [this.#queues.interactive, this.#queues.batch])
      for (let next = queue.peek(); next; next = queue.peek()) {
        const reservation = next[1].find();
        if (reservation === undefined) return;
        queue.dequeue(...next);
        next[1].admit(reservation);
      }
  }

  /** Rejects all requests of a priority. */
  reject(priority: EngineCall['priority'], reason: unknown): void {
    const queue = this.#queues[priority];
    for (let next = queue.peek(); next; next = queue.peek()) next[1].reject(reason);
  }
}
