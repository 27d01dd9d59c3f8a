import { Turns } from '../../base/turns.ts';
import type { EngineCall } from '../engines.ts';

/** @typeParam Place what is waited for */
export interface Waiter<Place> {
  call: EngineCall;
  /** A place that suits it, if there is one. */
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

  add(waiter: Waiter<Place>): void {
    this.#turns[waiter.call.priority].add(orgOf(waiter), waiter);
  }

  remove(waiter: Waiter<Place>): void {
    this.#turns[waiter.call.priority].remove(orgOf(waiter), waiter);
  }

  /** Whose turn it is. */
  first(): Waiter<Place> | undefined {
    return (this.#turns.interactive.first() ?? this.#turns.batch.first())?.[1];
  }

  /** Takes out the first; its org goes behind the others. */
  shift(): Waiter<Place> | undefined {
    const waiter = this.first();
    if (waiter) this.#turns[waiter.call.priority].done(orgOf(waiter), waiter);
    return waiter;
  }

  /** Turns all of a priority away. */
  refuse(priority: EngineCall['priority'], reason: unknown): void {
    const turns = this.#turns[priority];
    for (let next = turns.first(); next; next = turns.first()) {
      turns.done(...next);
      next[1].refuse(reason);
    }
  }
}

function orgOf({ call }: Pick<Waiter<never>, 'call'>): string {
  return call.org ?? '';
}
