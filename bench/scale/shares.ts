import type { SimBatches } from './batches.ts';
import type { OrgOrder, OrgWork } from './org-order.ts';

/** Service of the orgs of one model that had ready work all the time and none that ends soon. */
export interface Fairness {
  orgs: number;
  /** Jain's index of the tokens used, divided by the weights: 1 if all are equal. */
  jain: number;
  /** Tokens used by the orgs of the weight 10 for their weight, relative to those of the weight 1. */
  heavyToLight: number;
}

/** Counts the tokens that each org uses of each model. */
export class ServiceShares {
  readonly #batches: SimBatches;
  readonly #orders: readonly OrgOrder[];
  readonly #isCounted: (org: number) => boolean;
  #used: number[][];

  constructor(batches: SimBatches, orders: readonly OrgOrder[], isCounted: (org: number) => boolean) {
    this.#batches = batches;
    this.#orders = orders;
    this.#isCounted = isCounted;
    this.#used = orders.map(() => []);
  }

  start(): void {
    this.#used = this.#orders.map(() => []);
    for (const order of this.#orders) order.clearIdle();
  }

  count(lines: readonly { batchId: string; tokens: number }[]): void {
    for (const { batchId, tokens } of lines) {
      const { model, org } = this.#batches.byId(batchId);
      const used = this.#used[model]!;
      used[org] = (used[org] ?? 0) + tokens;
    }
  }

  /** Share of the orgs for which `isSelected` in all tokens. */
  shareOf(isSelected: (org: number) => boolean): number {
    let all = 0;
    let selected = 0;
    for (const ofModel of this.#used)
      for (const [org, used] of Object.entries(ofModel)) {
        all += used;
        if (isSelected(Number(org))) selected += used;
      }
    return selected / all;
  }

  take(): Fairness[] {
    return this.#orders.map((order, model) => {
      const works = order.ready.filter(({ wasIdle, org }) => !wasIdle && this.#isCounted(org));
      const shareOf = ({ org, weight }: OrgWork) => (this.#used[model]![org] ?? 0) / weight;
      const shares = works.map(shareOf);
      const ofWeight = (wanted: number) => mean(works.filter(({ weight }) => weight === wanted).map(shareOf));
      return {
        orgs: works.length,
        jain: mean(shares) ** 2 / mean(shares.map((share) => share ** 2)),
        heavyToLight: ofWeight(10) / ofWeight(1),
      };
    });
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
