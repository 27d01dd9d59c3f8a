/** Number of subjects from which unused ones are removed. */
const minSweep = 1_024;
/** Subjects are kept for this long after a request, which may still have to return what it reserved. */
const keepMs = 3_600_000;

export interface Kept {
  /** Monotonic time of the last request. */
  usedAt: number;
  /** True if nothing would be lost without it. */
  isEmpty(now: number): boolean;
}

/** Orgs and keys by id, as long as they have requests or use of a limit. */
export class SubjectMap<S extends Kept> {
  #subjects = new Map<string, S>();
  #sweepAt = minSweep;
  #create: (id: string) => S;

  constructor(create: (id: string) => S) {
    this.#create = create;
  }

  get size(): number {
    return this.#subjects.size;
  }

  /** Undefined for a subject without requests. Does not count as a use. */
  find(id: string): S | undefined {
    return this.#subjects.get(id);
  }

  of(id: string, now: number): S {
    let subject = this.#subjects.get(id);
    if (!subject) {
      if (this.#subjects.size >= this.#sweepAt) this.#sweep(now);
      this.#subjects.set(id, (subject = this.#create(id)));
    }
    subject.usedAt = now;
    return subject;
  }

  #sweep(now: number): void {
    for (const [id, subject] of this.#subjects)
      if (now - subject.usedAt >= keepMs && subject.isEmpty(now)) this.#subjects.delete(id);
    this.#sweepAt = Math.max(minSweep, 2 * this.#subjects.size);
  }
}
