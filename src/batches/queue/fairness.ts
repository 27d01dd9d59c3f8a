/**
 * Virtual time per org, in tokens divided by the weight of the org: a line is charged its estimate when it is sent, and corrected to its usage. An org that
 * returns starts at the least time of the active orgs, so that idling earns no credit. Soft state, which may be lost.
 */
export class Fairness {
  #time = new Map<string, number>();
  #working = new Set<string>();

  served(orgId: string): number {
    return this.#time.get(orgId) ?? this.#floor();
  }

  charge({ orgId, weight }: { orgId: string; weight: number }, tokens: number): void {
    this.#time.set(orgId, this.served(orgId) + tokens / weight);
  }

  /** Sets the orgs with work; the others lose their time. */
  setWorking(orgIds: ReadonlySet<string>): void {
    const floor = this.#floor();
    for (const orgId of orgIds)
      if (!this.#working.has(orgId)) this.#time.set(orgId, Math.max(floor, this.#time.get(orgId) ?? 0));
    for (const orgId of this.#time.keys()) if (!orgIds.has(orgId)) this.#time.delete(orgId);
    this.#working = new Set(orgIds);
  }

  #floor(): number {
    let floor = Number.POSITIVE_INFINITY;
    for (const orgId of this.#working)
      floor = Math.min(floor, this.#time.get(orgId) ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(floor) ? floor : 0;
  }
}
