import type { Clock, Timer } from '../../../base/clock.ts';
import { type Listed, putIn, takeOut } from '../../../base/unordered.ts';

/** Something that may take only so long. */
export interface Timed extends Listed {
  /** When it is overdue as things stand, in monotonic milliseconds. */
  readonly dueAt: number;
  /** It is overdue. */
  expire(): void;
}

/**
 * What is in flight, under one timer: a timer for each, set anew whenever something comes, would cost more than all else that is
 * done for a call.
 */
export class Deadlines<T extends Timed> {
  readonly all: T[] = [];
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly #leastMs: number;
  #timer: Timer | undefined;

  /** @param leastMs from now on nothing is due sooner than so much after it is added, or changes what it waits for */
  constructor(clock: Pick<Clock, 'monotonic' | 'after'>, leastMs: number) {
    this.#clock = clock;
    this.#leastMs = leastMs;
  }

  add(one: T): void {
    putIn(this.all, one);
    this.#timer ??= this.#clock.after(this.#leastMs, () => this.#look());
  }

  remove(one: T): void {
    takeOut(this.all, one);
    if (this.all.length > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Looks at least every `leastMs`: so it knows what is due before it is. */
  #look(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    let next = now + this.#leastMs;
    for (const one of this.all.slice()) {
      const at = one.dueAt;
      if (at <= now) one.expire();
      else next = Math.min(next, at);
    }
    if (this.all.length > 0) this.#timer ??= this.#clock.after(next - now, () => this.#look());
  }
}
