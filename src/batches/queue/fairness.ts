/** Weight of a line in the ratio of used to estimated tokens is 1 / `ratioOver`. */
const ratioOver = 64;

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

/**
 * Virtual time per org, in tokens divided by the weight of the org. An org that returns starts at the least time of the active orgs, so
 * that idling earns no credit.
 */
export class VirtualTimes {
  #time = new Map<string, number>();
  #working: ReadonlySet<string> = new Set();
  /** Sums over the recent lines. */
  #recent = { used: 0, estimated: 0 };

  served(orgId: string): number {
    return this.#time.get(orgId) ?? this.#floor();
  }

  /**
   * Charges an org for a line that is sent. Estimates contain the most tokens that a line may use, many times what most use: charged as
   * such, the lines in flight would outweigh hundreds of answers. So they count as far as recent lines used theirs.
   * @returns corrects the charge when the line is over; 0 tokens for a line that was not served
   */
  charge({ orgId, weight }: { orgId: string; weight: number }, estimate: number): (tokens: number) => void {
    const { used, estimated } = this.#recent;
    const charged = estimated > 0 ? (estimate * used) / estimated : estimate;
    this.#add(orgId, charged / weight);
    return (tokens) => {
      this.#add(orgId, (tokens - charged) / weight);
      if (tokens > 0) this.#note(tokens, estimate);
    };
  }

  setWorking(orgIds: ReadonlySet<string>): void {
    const floor = this.#floor();
    for (const orgId of orgIds)
      if (!this.#working.has(orgId)) this.#time.set(orgId, Math.max(floor, this.#time.get(orgId) ?? 0));
    for (const orgId of this.#time.keys()) if (!orgIds.has(orgId)) this.#time.delete(orgId);
    this.#working = orgIds;
  }

  #add(orgId: string, time: number): void {
    this.#time.set(orgId, this.served(orgId) + time);
  }

  #note(tokens: number, estimate: number): void {
    const { used, estimated } = this.#recent;
    const keep = 1 - 1 / ratioOver;
    this.#recent = { used: used * keep + tokens, estimated: estimated * keep + estimate };
  }

  #floor(): number {
    let floor = Number.POSITIVE_INFINITY;
    for (const orgId of this.#working)
      floor = Math.min(floor, this.#time.get(orgId) ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(floor) ? floor : 0;
  }
}
