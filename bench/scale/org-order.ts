import { asLate, isLate } from '../../src/core/urgency.ts';
import { readyChunks, type SimBatch } from './batches.ts';

/** Work of one org for one model. */
export interface OrgWork {
  org: number;
  weight: number;
  /** Virtual time: tokens claimed, divided by the weight. */
  served: number;
  /** Batches with ready chunks, most urgent first. */
  batches: SimBatch[];
  /** True if it had no ready chunks at some time since `clearIdle`. */
  wasIdle: boolean;
}

/** True if the org has late chunks: they come first. */
export function hasLateBatch({ batches: [first] }: OrgWork): boolean {
  return first !== undefined && isLate(first.due);
}

/** Orgs with ready chunks of one model, least served first: the tables `queues` and `queue_shares` with its indexes. */
export class OrgOrder {
  virtualTime = 0;
  owed = 0;
  readonly #works: (OrgWork | undefined)[] = [];
  readonly #order: OrgWork[] = [];
  readonly #late: OrgWork[] = [];
  readonly #weightOf: (org: number) => number;

  constructor(weightOf: (org: number) => number) {
    this.#weightOf = weightOf;
  }

  /** Orgs with ready chunks, in their order. */
  get ready(): readonly OrgWork[] {
    return this.#order;
  }

  /** Orgs with late chunks, in their order. */
  get late(): readonly OrgWork[] {
    return this.#late;
  }

  of(org: number): OrgWork {
    return (this.#works[org] ??= {
      org,
      weight: this.#weightOf(org),
      served: 0,
      batches: [],
      wasIdle: true,
    });
  }

  clearIdle(): void {
    for (const work of this.#works) if (work) work.wasIdle = work.batches.length === 0;
  }

  /** Adds a batch with ready chunks, or one whose chunks are ready again. */
  add(batch: SimBatch): void {
    const work = this.of(batch.org);
    const at = placeOf(work.batches, batch, byUrgency);
    if (work.batches[at] !== batch) this.#change(work, () => work.batches.splice(at, 0, batch));
  }

  /** Puts a batch before the batches of its org that are not late. */
  hurry(batch: SimBatch): void {
    const work = this.of(batch.org);
    const at = placeOf(work.batches, batch, byUrgency);
    const isQueued = work.batches[at] === batch;
    this.#change(work, () => {
      if (isQueued) work.batches.splice(at, 1);
      batch.due = asLate(batch.due);
      if (isQueued) work.batches.splice(placeOf(work.batches, batch, byUrgency), 0, batch);
    });
  }

  /** Fills the order at the start with batches in the order of their urgency, and with the virtual times of their orgs. */
  addAll(batches: readonly SimBatch[], servedOf: (work: OrgWork) => number): void {
    for (const batch of batches) this.of(batch.org).batches.push(batch);
    for (const work of this.#works) {
      if (!work || work.batches.length === 0) continue;
      work.served = servedOf(work);
      this.#order.push(work);
      if (hasLateBatch(work)) this.#late.push(work);
    }
    for (const order of [this.#order, this.#late]) order.sort(byService);
  }

  /** Removes a batch from the order if it has no ready chunks, or `isOver`. */
  settle(batch: SimBatch, isOver = false): void {
    if (!isOver && readyChunks(batch) > 0) return;
    const work = this.of(batch.org);
    const at = placeOf(work.batches, batch, byUrgency);
    if (work.batches[at] !== batch) return;
    this.#change(work, () => work.batches.splice(at, 1));
    work.wasIdle ||= work.batches.length === 0;
  }

  /** Sets the virtual time of an org. */
  serve(work: OrgWork, served: number): void {
    this.#change(work, () => (work.served = served));
  }

  /** Changes an org, and moves it to its new places in the orders. */
  #change(work: OrgWork, change: () => void): void {
    if (work.batches.length > 0) this.#order.splice(placeOf(this.#order, work, byService), 1);
    if (hasLateBatch(work)) this.#late.splice(placeOf(this.#late, work, byService), 1);
    change();
    if (work.batches.length > 0) this.#order.splice(placeOf(this.#order, work, byService), 0, work);
    if (hasLateBatch(work)) this.#late.splice(placeOf(this.#late, work, byService), 0, work);
  }
}

function byUrgency(a: SimBatch, b: SimBatch): number {
  return a.due - b.due || a.at - b.at;
}

function byService(a: OrgWork, b: OrgWork): number {
  return a.served - b.served || a.org - b.org;
}

/** First place in a sorted list whose item does not come before `item`. */
function placeOf<T>(sorted: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compare(sorted[middle]!, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
