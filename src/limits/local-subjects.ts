import { drain, emptyMeter, fill, type Meter, type Rate, resetOf, roomIn, waitFor } from '../core/rates.ts';
import type { Bucket, Kind, Subject } from './admit.ts';

/** Number of subjects from which those without use are removed. */
const minSweep = 1_024;
/** Subjects are kept for this long after a request: it still has to return what it reserved. */
const keepMs = 3_600_000;
/** Time after which a request in flight may have ended. */
const concurrentRetryMs = 1_000;

/** Use of the limits of orgs or keys, in memory. */
export class LocalSubjects {
  #subjects = new Map<string, LocalSubject>();
  #sweepAt = minSweep;

  get size(): number {
    return this.#subjects.size;
  }

  of(id: string, now: number): Subject {
    let subject = this.#subjects.get(id);
    if (!subject) {
      if (this.#subjects.size >= this.#sweepAt) this.#sweep(now);
      this.#subjects.set(id, (subject = new LocalSubject()));
    }
    subject.usedAt = now;
    return subject;
  }

  #sweep(now: number): void {
    for (const [id, subject] of this.#subjects) if (subject.isUnused(now)) this.#subjects.delete(id);
    this.#sweepAt = Math.max(minSweep, 2 * this.#subjects.size);
  }
}

class LocalSubject implements Subject {
  usedAt = 0;
  #rates = new Map<Rate, RateBucket>();
  #concurrent = new ConcurrencyBucket();

  bucket(kind: Kind): Bucket {
    if (kind === 'concurrent') return this.#concurrent;
    let bucket = this.#rates.get(kind);
    if (!bucket) this.#rates.set(kind, (bucket = new RateBucket()));
    return bucket;
  }

  isUnused(now: number): boolean {
    const isIdle = this.#concurrent.inFlight === 0 && now - this.usedAt >= keepMs;
    return isIdle && [...this.#rates.values()].every((each) => each.isEmpty(now));
  }
}

class RateBucket implements Bucket {
  #meter: Meter = emptyMeter();
  #limit = 0;

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

  isEmpty(now: number): boolean {
    this.#drain(this.#limit, now);
    return this.#meter.level === 0;
  }

  #drain(limit: number, now: number): void {
    this.#limit = limit;
    drain(this.#meter, limit, now);
  }
}

class ConcurrencyBucket implements Bucket {
  inFlight = 0;

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
