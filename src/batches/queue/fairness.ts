import { owedAfter } from '../../core/late-work.ts';

/** Weight of a line in the ratio of used to estimated tokens is 1 / `ratioLines`. */
const ratioLines = 64;

/** Shares of the orgs in the lines that this process sends, by model. Soft state, which may be lost. */
export class Fairness {
  #models = new Map<string, VirtualTimes>();

  of(model: string): VirtualTimes {
    const times = this.#models.get(model) ?? new VirtualTimes();
    this.#models.set(model, times);
    return times;
  }

  /** Sets the work of this process; orgs without work of a model lose their time. */
  setWorking(work: Iterable<{ model: string; batch: { orgId: string } }>): void {
    const byModel = new Map<string, Set<string>>();
    for (const { model, batch } of work)
      byModel.set(model, (byModel.get(model) ?? new Set<string>()).add(batch.orgId));
    for (const [model, times] of this.#models) times.setWorking(byModel.get(model) ?? new Set());
    for (const [model, orgIds] of byModel) this.of(model).setWorking(orgIds);
  }
}

interface Account {
  /** Virtual time of the lines that have ended. */
  done: number;
  /** Virtual time of the lines in flight, if they used their whole estimates. */
  inFlight: number;
  usedShare: UsedShare;
}

/**
 * Virtual time per org, in tokens divided by the weight of the org. An org that returns starts at the least time of the active orgs, so
 * that idling earns no credit.
 *
 * An estimate contains the most tokens that a line may use, many times what most lines use. So lines in flight count with the share
 * of their estimates that recent lines used: whole estimates would outweigh hundreds of answers. For the same reason the least time
 * ignores lines in flight: after their estimates are corrected, the returning org would be behind all others.
 */
export class VirtualTimes {
  #accounts = new Map<string, Account>();
  #working: ReadonlySet<string> = new Set();
  /** Share of all orgs, which counts for an org until one of its own lines has ended. */
  #usedShare = new UsedShare();
  /** Estimated tokens that late work took ahead of its turn (core/late-work.ts). */
  owed = 0;

  served(orgId: string): number {
    const account = this.#accounts.get(orgId);
    if (!account) return this.#floor();
    return account.done + account.inFlight * (account.usedShare.ratio ?? this.#usedShare.ratio ?? 1);
  }

  /**
   * Charges an org for a line that is sent.
   * @param isAhead true for late work that goes before its turn
   * @returns function that replaces the estimate by the tokens that the line used; 0 for a line that was not served
   */
  charge(
    { orgId, weight }: { orgId: string; weight: number },
    estimate: number,
    isAhead = false,
  ): (tokens: number) => void {
    this.owed = owedAfter(this.owed, estimate, isAhead);
    const account = this.#accounts.get(orgId) ?? this.#open(orgId);
    account.inFlight += estimate / weight;
    return (tokens) => {
      account.inFlight -= estimate / weight;
      account.done += tokens / weight;
      if (tokens > 0) for (const share of [account.usedShare, this.#usedShare]) share.add(tokens, estimate);
    };
  }

  setWorking(orgIds: ReadonlySet<string>): void {
    const floor = this.#floor();
    for (const orgId of orgIds) {
      const account = this.#accounts.get(orgId) ?? this.#open(orgId);
      if (!this.#working.has(orgId)) account.done = Math.max(floor, account.done);
    }
    for (const orgId of this.#accounts.keys()) if (!orgIds.has(orgId)) this.#accounts.delete(orgId);
    this.#working = orgIds;
  }

  #open(orgId: string): Account {
    const account = { done: this.#floor(), inFlight: 0, usedShare: new UsedShare() };
    this.#accounts.set(orgId, account);
    return account;
  }

  #floor(): number {
    const times = [...this.#working].flatMap((orgId) => this.#accounts.get(orgId)?.done ?? []);
    return times.length > 0 ? Math.min(...times) : 0;
  }
}

/** Tokens that recent lines used, relative to their estimates. */
class UsedShare {
  #used = 0;
  #estimated = 0;

  add(tokens: number, estimate: number): void {
    const keep = 1 - 1 / ratioLines;
    this.#used = this.#used * keep + tokens;
    this.#estimated = this.#estimated * keep + estimate;
  }

  /** Undefined before the first line. */
  get ratio(): number | undefined {
    return this.#estimated > 0 ? this.#used / this.#estimated : undefined;
  }
}
