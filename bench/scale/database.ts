import type { VirtualTime } from '../../test/support/virtual-clock.ts';
import type { PostgresCosts } from './options.ts';

/** Time that transactions of one kind spent. */
export interface Transactions {
  count: number;
  /** Milliseconds until the locks and a core were had, of each. */
  waits: number[];
  /** Milliseconds of a core. */
  busyMs: number;
}

/** A resource for `places` at a time, in the order of arrival. */
class Places {
  #free: number;
  #waiting: (() => void)[] = [];
  #at = 0;

  constructor(places: number) {
    this.#free = places;
  }

  enter(next: () => void): void {
    if (this.#free === 0) return void this.#waiting.push(next);
    this.#free--;
    next();
  }

  leave(): void {
    const next = this.#waiting[this.#at++];
    if (!next) {
      this.#waiting = [];
      this.#at = 0;
      this.#free++;
    } else next();
  }
}

/** One Postgres: cores, and row locks that transactions take in one order. What it stores is elsewhere. */
export class SimDatabase {
  readonly #time: VirtualTime;
  readonly #cores: Places;
  readonly #locks = new Map<string, Places>();
  #kinds = new Map<string, Transactions>();

  constructor(time: VirtualTime, { cores }: PostgresCosts) {
    this.#time = time;
    this.#cores = new Places(cores);
  }

  /** Forgets the transactions so far. */
  clear(): void {
    this.#kinds = new Map();
  }

  of(kind: string): Transactions {
    const found = this.#kinds.get(kind) ?? { count: 0, waits: [], busyMs: 0 };
    this.#kinds.set(kind, found);
    return found;
  }

  get busyMs(): number {
    return [...this.#kinds.values()].reduce((sum, each) => sum + each.busyMs, 0);
  }

  /** Calls `commit` when the locks were held and a core worked for `ms`. */
  transact(kind: string, locks: readonly string[], ms: number, commit: () => void): void {
    const begun = this.#time.elapsed;
    const held = locks.toSorted().map((name) => this.#lock(`${kind} ${name}`));
    const next = (at: number): void => {
      if (at < held.length) return held[at]!.enter(() => next(at + 1));
      this.#cores.enter(() => {
        const measured = this.of(kind);
        measured.count++;
        measured.waits.push(this.#time.elapsed - begun);
        measured.busyMs += ms;
        this.#time.after(this.#whole(ms), () => {
          commit();
          this.#cores.leave();
          for (const lock of held) lock.leave();
        });
      });
    };
    next(0);
  }

  #rest = 0;

  /** Whole milliseconds, which the clock counts in: what was cut off is added to the next ones. */
  #whole(ms: number): number {
    this.#rest += ms;
    const whole = Math.floor(this.#rest);
    this.#rest -= whole;
    return whole;
  }

  #lock(name: string): Places {
    const lock = this.#locks.get(name) ?? new Places(1);
    this.#locks.set(name, lock);
    return lock;
  }
}
