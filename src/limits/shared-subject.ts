import { drain, emptyMeter, type Meter, type Rate, resetOf, roomIn, unit, waitFor } from '../core/rates.ts';
import type { RateRequest, Share, ShareRequest } from '../core/shared-use.ts';
import { type Bucket, concurrentRetryMs, type Subject } from './admit.ts';
import type { Kind } from './kinds.ts';
import type { Kept } from './subject-map.ts';

/** Time after a share that fell short in which no other is asked for. */
const emptyMs = 50;
/** Time after which the places of other processes are read again. */
const fullMs = 1_000;

/** Occasion of a request: requests that wait, the beat of every second, or the end of the process. */
export type Reason = 'need' | 'beat' | 'stop';

/** Bucket that is filled by shares from the database. */
interface SharedBucket extends Bucket {
  /** Asks for `amount` with the next share. */
  want(amount: number, limit: number): void;
}

/** Use of the limits of one org or key in one of several processes, which take shares of what is left. */
export class SharedSubject implements Subject, Kept {
  usedAt = 0;
  readonly id: string;
  #rates = new Map<Rate, SharedRate>();
  #concurrent: SharedPlaces | undefined;
  #onUse: (subject: SharedSubject) => void;

  /** @param onUse called after each use, which may leave a debt or a credit to report */
  constructor(id: string, onUse: (subject: SharedSubject) => void = () => {}) {
    this.id = id;
    this.#onUse = onUse;
  }

  bucket(kind: Kind): SharedBucket {
    if (kind === 'concurrent') return (this.#concurrent ??= new SharedPlaces());
    let bucket = this.#rates.get(kind);
    if (!bucket) this.#rates.set(kind, (bucket = new SharedRate(() => this.#onUse(this))));
    return bucket;
  }

  /** True if this process has a share, or uses one. */
  get isActive(): boolean {
    return (this.#concurrent?.isActive ?? false) || [...this.#rates.values()].some((each) => each.isActive);
  }

  isEmpty(): boolean {
    return !this.isActive;
  }

  /** Requests in flight, and the part of the shares that is not used; negative after use beyond them. */
  get own(): { unused: Partial<Record<Rate, number>>; inFlight: number } {
    const unused = Object.fromEntries([...this.#rates].map(([rate, { credit }]) => [rate, credit]));
    return { unused, inFlight: this.#concurrent?.inFlight ?? 0 };
  }

  /** Request for the next share; `receive` must follow. */
  request(now: number, reason: Reason): ShareRequest {
    const rates: ShareRequest['rates'] = {};
    for (const [rate, bucket] of this.#rates) if (bucket.limit > 0) rates[rate] = bucket.request(now, reason);
    return { rates, ...(this.#concurrent && { concurrent: this.#concurrent.request(reason) }) };
  }

  /** @param share undefined if the database failed */
  receive(share: Share | undefined, now: number): void {
    for (const [rate, bucket] of this.#rates) bucket.receive(share?.rates[rate], now);
    this.#concurrent?.receive(share?.concurrent, now);
  }
}

class SharedRate implements SharedBucket {
  limit = 0;
  /** Granted amount that is not used; negative after use beyond it. */
  #credit = 0;
  #grantedAt = 0;
  /** Debt that is being reported. */
  #reported = 0;
  #asked = 0;
  #wanted = 0;
  #used = 0;
  /** Use of the last second. */
  #pace = 0;
  /** Use by all processes when it was last read. */
  #all: Meter = emptyMeter();
  #emptyUntil = 0;
  #onUse: () => void;

  constructor(onUse: () => void) {
    this.#onUse = onUse;
  }

  get credit(): number {
    return this.#credit;
  }

  get isActive(): boolean {
    return this.#credit !== 0 || this.#used > 0;
  }

  lacks(amount: number): boolean {
    return this.#credit < amount;
  }

  waitMs(amount: number, limit: number, now: number): number {
    this.limit = limit;
    if (this.#credit >= amount) return 0;
    drain(this.#all, limit, now);
    return Math.max(waitFor(this.#all, limit, amount - this.#credit), Math.ceil(this.#emptyUntil - now));
  }

  want(amount: number): void {
    this.#wanted += amount;
  }

  add(amount: number, limit: number): void {
    this.limit = limit;
    this.#credit -= amount;
    if (amount > 0) this.#used += amount;
    this.#onUse();
  }

  state(limit: number, now: number) {
    drain(this.#all, limit, now);
    const remaining = Math.min(limit, roomIn(this.#all, limit) + Math.max(0, this.#credit));
    return { remaining, resetMs: resetOf(this.#all, limit) };
  }

  request(now: number, reason: Reason): RateRequest {
    const isIdle = reason === 'stop' || (reason === 'beat' && this.#used === 0 && this.#wanted === 0);
    if (reason !== 'need') {
      this.#pace = this.#used;
      this.#used = 0;
    }
    let unused = 0;
    if (this.#credit < 0) {
      this.#reported = this.#credit;
      unused = this.#credit * unit;
      this.#credit = 0;
    } else if (isIdle) {
      // The part that drained meanwhile was available to others already.
      unused = Math.max(0, this.#credit * unit - this.limit * Math.ceil(now - this.#grantedAt));
      this.#credit = 0;
    }
    this.#asked = isIdle ? 0 : this.#wanted + Math.max(0, this.#pace - this.#credit);
    this.#wanted = 0;
    return { limit: this.limit, unused, wants: this.#asked };
  }

  receive(share: Share['rates'][Rate], now: number): void {
    if (share) {
      this.#credit += share.granted;
      this.#all = { level: share.level, at: Math.floor(now) };
      this.#grantedAt = now;
      if (share.granted < this.#asked) this.#emptyUntil = now + emptyMs;
    } else this.#credit += this.#reported;
    this.#reported = 0;
  }
}

class SharedPlaces implements SharedBucket {
  #limit = 0;
  /** Requests that this process may have in flight. */
  #places = 0;
  #inFlight = 0;
  /** Most in flight since the last beat. */
  #peak = 0;
  #wanted = 0;
  /** Places of the last request. */
  #asked = 0;
  #fullUntil = 0;
  /** Places of the other processes when they were last read. */
  #others = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  get isActive(): boolean {
    return this.#places > 0 || this.#inFlight > 0;
  }

  lacks(amount: number): boolean {
    return this.#inFlight + amount > this.#places;
  }

  waitMs(amount: number, limit: number, now: number): number {
    this.#limit = limit;
    if (this.#inFlight + amount > limit) return concurrentRetryMs;
    return this.lacks(amount) && now < this.#fullUntil ? concurrentRetryMs : 0;
  }

  want(amount: number, limit: number): void {
    this.#limit = limit;
    this.#wanted += amount;
  }

  add(amount: number): void {
    this.#inFlight += amount;
    this.#peak = Math.max(this.#peak, this.#inFlight);
  }

  state(limit: number) {
    return { remaining: Math.max(0, limit - this.#others - this.#inFlight), resetMs: 0 };
  }

  request(reason: Reason): NonNullable<ShareRequest['concurrent']> {
    const kept = { need: this.#places, beat: Math.min(this.#places, this.#peak), stop: 0 }[reason];
    const wants = Math.max(kept - this.#inFlight, this.#wanted, 0);
    // Places that are returned may belong to another process before the answer arrives.
    this.#places = Math.max(kept, this.#inFlight);
    if (reason !== 'need') this.#peak = this.#inFlight;
    this.#wanted = 0;
    this.#asked = this.#inFlight + wants;
    return { limit: this.#limit, inFlight: this.#inFlight, wants };
  }

  receive(share: Share['concurrent'], now: number): void {
    this.#places = share?.places ?? 0;
    if (!share) return;
    this.#others = share.taken - share.places;
    this.#fullUntil = share.places < this.#asked ? now + fullMs : 0;
  }
}
