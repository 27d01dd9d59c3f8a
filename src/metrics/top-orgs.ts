import type { Clock } from '../base/clock.ts';

const halfLifeMs = 3_600_000;
/** Age of the weights from which they are decayed before more is added. */
const decayMs = 60_000;
/** Factor by which an org must be larger than a shown one to replace it, so that two similar orgs do not alternate. */
const replaceFactor = 2;
/** Weight in tokens below which an org is forgotten. */
const minWeight = 1;

/** Label of all orgs that are not shown. */
export const otherOrgs = 'other';

/** Chooses the largest orgs, by their recent tokens, as the values of a metric label: at most `max` at a time. */
export class TopOrgs {
  #max: number;
  #clock: Pick<Clock, 'monotonic'>;
  #weights = new Map<string, number>();
  #shown = new Set<string>();
  #decayedAt: number;

  constructor(max: number, clock: Pick<Clock, 'monotonic'>) {
    this.#max = max;
    this.#clock = clock;
    this.#decayedAt = clock.monotonic();
  }

  get shown(): ReadonlySet<string> {
    return this.#shown;
  }

  /** Counts tokens of an org, and returns its label. */
  count(orgId: string, tokens: number): string {
    if (this.#clock.monotonic() - this.#decayedAt > decayMs) this.#decay();
    this.#weights.set(orgId, (this.#weights.get(orgId) ?? 0) + tokens);
    if (this.#shown.size < this.#max) this.#shown.add(orgId);
    return this.labelOf(orgId);
  }

  labelOf(orgId: string): string {
    return this.#shown.has(orgId) ? orgId : otherOrgs;
  }

  /** Replaces shown orgs by much larger ones, and returns those that are no longer shown. */
  review(): string[] {
    this.#decay();
    const weight = (orgId: string) => this.#weights.get(orgId) ?? 0;
    const larger = (a: string, b: string) => weight(b) - weight(a);
    const shown = [...this.#shown].toSorted(larger);
    const dropped: string[] = [];
    for (const orgId of [...this.#weights.keys()].filter((id) => !this.#shown.has(id)).toSorted(larger)) {
      const least = shown.pop();
      if (least === undefined || weight(orgId) <= replaceFactor * weight(least)) break;
      this.#shown.delete(least);
      this.#shown.add(orgId);
      dropped.push(least);
    }
    return dropped;
  }

  #decay(): void {
    const now = this.#clock.monotonic();
    const factor = 0.5 ** ((now - this.#decayedAt) / halfLifeMs);
    this.#decayedAt = now;
    for (const [orgId, weight] of this.#weights) {
      if (weight * factor < minWeight) this.#weights.delete(orgId);
      else this.#weights.set(orgId, weight * factor);
    }
  }
}
