import type { RequestLimits } from '../core/limits.ts';
import {
  drain,
  emptyMeter,
  fill,
  type Meter,
  type Rate,
  rateFields,
  resetOf,
  roomIn,
  waitFor,
} from '../core/rates.ts';
import { type Bucket, concurrentRetryMs, type Subject } from './admit.ts';
import type { Kind } from './kinds.ts';
import type { Kept } from './subject-map.ts';
import type { SubjectUse } from './limit-use.ts';

/** Use of the limits of one org or key, in the only process on its database. */
export class LocalSubject implements Subject, Kept {
  usedAt = 0;
  #rates = new Map<Rate, LocalRate>();
  #concurrent = new LocalPlaces();

  bucket(kind: Kind): Bucket {
    if (kind === 'concurrent') return this.#concurrent;
    let bucket = this.#rates.get(kind);
    if (!bucket) this.#rates.set(kind, (bucket = new LocalRate()));
    return bucket;
  }

  /** Use of these limits. */
  use(limits: RequestLimits, now: number): SubjectUse {
    const meters: SubjectUse['meters'] = {};
    for (const [rate, bucket] of this.#rates) meters[rate] = bucket.read(limits[rateFields[rate]] ?? 0, now);
    return { meters, inFlight: this.#concurrent.inFlight };
  }

  isEmpty(now: number): boolean {
    return this.#concurrent.inFlight === 0 && [...this.#rates.values()].every((each) => each.isEmpty(now));
  }
}

class LocalRate implements Bucket {
  #meter: Meter = emptyMeter();
  #limit = 0;

  lacks(): boolean {
    return false;
  }

  waitMs(amount: number, limit: number, now: number): number {
    this.#drain(limit, now);
    return waitFor(this.#meter, limit, amount);
  }

  add(amount: number, limit: number, now: number): void {
    this.#drain(limit, now);
    fill(this.#meter, amount);
  }

  state(limit: number, now: number) {
    this.#drain(limit, now);
    return { remaining: roomIn(this.#meter, limit), resetMs: resetOf(this.#meter, limit) };
  }

  read(limit: number, now: number): Meter {
    const meter = { ...this.#meter };
    drain(meter, limit, now);
    return meter;
  }

  isEmpty(now: number): boolean {
    this.#drain(this.#limit, now);
    return this.#meter.level === 0;
  }

  #drain(limit: number, now: number): void {
    this.#limit = limit;
    drain(this.#meter, limit, now);
  }
}

class LocalPlaces implements Bucket {
  inFlight = 0;

  lacks(): boolean {
    return false;
  }

  waitMs(amount: number, limit: number): number {
    return this.inFlight + amount > limit ? concurrentRetryMs : 0;
  }

  add(amount: number): void {
    this.inFlight += amount;
  }

  state(limit: number) {
    return { remaining: Math.max(0, limit - this.inFlight), resetMs: 0 };
  }
}
