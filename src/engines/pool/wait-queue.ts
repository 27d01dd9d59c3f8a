import type { Timer } from '../../base/clock.ts';
import { onAbort } from '../../base/on-abort.ts';
import { RoundRobinQueue } from '../../base/round-robin-queue.ts';
import type { EngineCall } from '../engines.ts';
import { groupOf, type Holdings, weightOf } from './holdings.ts';

interface Waiter<Reservation> {
  call: EngineCall;
  find: () => Reservation | undefined;
  admit: (reservation: Reservation) => void;
  reject: (reason: unknown) => void;
}

/**
 * Requests that wait for a reservation: batch lines that are owed a slot, then interactive requests, then other lines. Within a
 * priority, the org with the fewest slots for its weight goes first, and equal ones take turns.
 */
export class WaitQueue<Reservation> {
  readonly #queues: Record<EngineCall['priority'], RoundRobinQueue<Waiter<Reservation>>> = {
    interactive: new RoundRobinQueue(),
    batch: new RoundRobinQueue(),
  };
  readonly #holdings: Pick<Holdings, 'load' | 'isOwed'>;

  constructor(holdings: Pick<Holdings, 'load' | 'isOwed'>) {
    this.#holdings = holdings;
  }

  count(priority: EngineCall['priority']): number {
    return this.#queues[priority].size;
  }

  /**
   * Makes room for a request in a full queue: rejects the newest request of the org with the most waiting for its weight, unless
   * the org of the request would then have as many. An org without waiting requests always gets room.
   */
  makeRoom(call: EngineCall, reason: unknown): boolean {
    const queue = this.#queues[call.priority];
    const own = queue.countFor(groupOf(call));
    const longest = queue.longestOwner((waiter) => weightOf(waiter.call));
    const newest = longest === undefined ? undefined : queue.newestFor(longest);
    if (!newest) return own === 0;
    const left = (queue.countFor(longest!) - 1) / weightOf(newest.call);
    if (left < (own + 1) / weightOf(call)) return own === 0;
    newest.reject(reason);
    return true;
  }

  /** Waits for the call's turn and a reservation by `find`. @throws the reason of the call's signal or of the rejection */
  wait(
    call: EngineCall,
    find: () => Reservation | undefined,
    startTimer: (reject: (reason: unknown) => void) => Timer | null,
  ): Promise<Reservation> {
    const { priority, signal } = call;
    const queue = this.#queues[priority];
    const group = groupOf(call);
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer?.cancel();
        unsubscribe();
        queue.remove(group, waiter);
      };
      const waiter: Waiter<Reservation> = {
        call,
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
      queue.add(group, waiter);
    });
  }

  /** Admits requests in turn until one finds no reservation. */
  admit(): void {
    while (this.#holdings.isOwed('batch') && this.#admitNext('batch'));
    while (this.#admitNext('interactive'));
    if (this.count('interactive') === 0) while (this.#admitNext('batch'));
  }

  /** False if none waits, or the next one finds no reservation. */
  #admitNext(priority: EngineCall['priority']): boolean {
    const queue = this.#queues[priority];
    const next = queue.peekLowest((_, { call }) => this.#holdings.load(call));
    const reservation = next?.[1].find();
    if (!next || reservation === undefined) return false;
    queue.dequeue(...next);
    next[1].admit(reservation);
    return true;
  }

  reject(priority: EngineCall['priority'], reason: unknown): void {
    const queue = this.#queues[priority];
    for (let next = queue.peek(); next; next = queue.peek()) next[1].reject(reason);
  }
}
