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
  #turns: Record<EngineCall['priority'], Map<string, Set<Waiter<Place>>>> = {
    interactive: new Map(),
    batch: new Map(),
  };
  #counts = { interactive: 0, batch: 0 };

  count(priority: EngineCall['priority']): number {
    return this.#counts[priority];
  }

  add(waiter: Waiter<Place>): void {
    const turns = this.#turns[waiter.call.priority];
    const own = turns.get(orgOf(waiter));
    if (own) own.add(waiter);
    else turns.set(orgOf(waiter), new Set([waiter]));
    this.#counts[waiter.call.priority]++;
  }

  remove(waiter: Waiter<Place>): void {
    const turns = this.#turns[waiter.call.priority];
    const own = turns.get(orgOf(waiter));
    if (!own?.delete(waiter)) return;
    if (own.size === 0) turns.delete(orgOf(waiter));
    this.#counts[waiter.call.priority]--;
  }

  /** Whose turn it is. */
  first(): Waiter<Place> | undefined {
    const turns = this.#counts.interactive > 0 ? this.#turns.interactive : this.#turns.batch;
    for (const own of turns.values()) for (const waiter of own) return waiter;
    return undefined;
  }

  /** Takes out the first; its org goes behind the others. */
  shift(): Waiter<Place> | undefined {
    const waiter = this.first();
    if (!waiter) return undefined;
    const turns = this.#turns[waiter.call.priority];
    const own = turns.get(orgOf(waiter))!;
    turns.delete(orgOf(waiter));
    turns.set(orgOf(waiter), own);
    this.remove(waiter);
    return waiter;
  }

  /** Turns all away. */
  refuse(reason: unknown): void {
    for (let waiter = this.shift(); waiter; waiter = this.shift()) waiter.refuse(reason);
  }
}

function orgOf({ call }: Pick<Waiter<never>, 'call'>): string {
  return call.org ?? '';
}
