import type { Timer } from '../../src/base/clock.ts';
import type { VirtualTime } from '../../test/support/virtual-clock.ts';

interface Job {
  ms: number;
  /** Null while it waits for a slot. */
  timer: Timer | null;
  end: (isAnswered: boolean) => void;
}

/** Slots of all servers, and those at work, over time. */
export class SlotTime {
  readonly #time: VirtualTime;
  #busy = 0;
  #slots = 0;
  #busyMs = 0;
  #slotMs = 0;
  #at = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  change(busy: number, slots: number): void {
    this.#advance();
    this.#busy += busy;
    this.#slots += slots;
  }

  /** Share of the slot time used since the last call. */
  take(): number {
    this.#advance();
    const share = this.#busyMs / this.#slotMs;
    this.#busyMs = this.#slotMs = 0;
    return share;
  }

  #advance(): void {
    const ms = this.#time.elapsed - this.#at;
    this.#at += ms;
    this.#busyMs += this.#busy * ms;
    this.#slotMs += this.#slots * ms;
  }
}

/** A server of a model: it runs `slots` requests at a time, and queues the others. */
export class SimServer {
  readonly slots: number;
  readonly #time: VirtualTime;
  readonly #slotTime: SlotTime;
  #running = new Set<Job>();
  #queued: Job[] = [];
  #isUp = true;

  constructor(slots: number, time: VirtualTime, slotTime: SlotTime) {
    this.slots = slots;
    this.#time = time;
    this.#slotTime = slotTime;
    slotTime.change(0, slots);
  }

  /**
   * Takes a request that needs a slot for `ms`.
   * @param end called with true then, or with false if the server is dead or dies before
   * @returns ends the request, whose client has gone
   */
  send(ms: number, end: Job['end']): () => void {
    const job: Job = { ms, timer: null, end };
    if (!this.#isUp) end(false);
    else if (this.#running.size < this.slots) this.#run(job);
    else this.#queued.push(job);
    return () => this.#cancel(job);
  }

  #cancel(job: Job): void {
    this.#queued = this.#queued.filter((each) => each !== job);
    if (this.#running.has(job)) this.#leave(job);
  }

  die(): void {
    this.#isUp = false;
    const all = [...this.#running, ...this.#queued];
    this.#slotTime.change(-this.#running.size, -this.slots);
    for (const { timer } of this.#running) timer?.cancel();
    this.#running = new Set();
    this.#queued = [];
    for (const { end } of all) end(false);
  }

  restart(): void {
    this.#isUp = true;
    this.#slotTime.change(0, this.slots);
  }

  #run(job: Job): void {
    this.#running.add(job);
    this.#slotTime.change(1, 0);
    job.timer = this.#time.after(job.ms, () => {
      this.#leave(job);
      job.end(true);
    });
  }

  #leave(job: Job): void {
    job.timer?.cancel();
    this.#running.delete(job);
    this.#slotTime.change(-1, 0);
    const next = this.#queued.shift();
    if (next) this.#run(next);
  }
}
