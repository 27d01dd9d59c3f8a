/** Queue that serves owners in round robin, and each owner's entries in order. */
export class RoundRobinQueue<Entry> {
  /** In the order of their turns. */
  readonly #owners = new Map<string, Set<Entry>>();
  #count = 0;

  get size(): number {
    return this.#count;
  }

  countFor(owner: string): number {
    return this.#owners.get(owner)?.size ?? 0;
  }

  /** Owner with the most entries. @param weightOf number by which the entries of an owner are divided, by its first entry */
  longestOwner(weightOf: (first: Entry) => number = () => 1): string | undefined {
    let longest: string | undefined;
    let most = 0;
    for (const [owner, own] of this.#owners) {
      const [first] = own;
      const size = own.size / weightOf(first!);
      if (size <= most) continue;
      longest = owner;
      most = size;
    }
    return longest;
  }

  newestFor(owner: string): Entry | undefined {
    return [...(this.#owners.get(owner) ?? [])].at(-1);
  }

  add(owner: string, entry: Entry): void {
    const own = this.#owners.get(owner);
    if (own) own.add(entry);
    else this.#owners.set(owner, new Set([entry]));
    this.#count++;
  }

  /** Removes an entry before its turn; the owner keeps its place. */
  remove(owner: string, entry: Entry): void {
    const own = this.#owners.get(owner);
    if (!own?.delete(entry)) return;
    if (own.size === 0) this.#owners.delete(owner);
    this.#count--;
  }

  /** First entry of the next owner whose first entry `mayGo`. */
  peek(mayGo: (owner: string, entry: Entry) => boolean = () => true): [string, Entry] | undefined {
    for (const [owner, own] of this.#owners)
      for (const entry of own) {
        if (mayGo(owner, entry)) return [owner, entry];
        break;
      }
    return undefined;
  }

  /** First entry of the owner with the lowest rank, the next in turn among equals. */
  peekLowest(rankOf: (owner: string, first: Entry) => number): [string, Entry] | undefined {
    let lowest: [string, Entry] | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [owner, own] of this.#owners) {
      const [first] = own;
      const rank = rankOf(owner, first!);
      if (rank >= least) continue;
      lowest = [owner, first!];
      least = rank;
    }
    return lowest;
  }

  /** Removes an entry that had its turn; the owner moves to the end. */
  dequeue(owner: string, entry: Entry): void {
    this.remove(owner, entry);
    const own = this.#owners.get(owner);
    if (!own) return;
    this.#owners.delete(owner);
    this.#owners.set(owner, own);
  }
}
