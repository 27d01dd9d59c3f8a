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

  /** Owner with the most entries. */
  longestOwner(): string | undefined {
    let longest: string | undefined;
    let size = 0;
    for (const [owner, own] of this.#owners)
      if (own.size > size) {
        longest = owner;
        size = own.size;
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

  /** Removes an entry that had its turn; the owner moves to the end. */
  dequeue(owner: string, entry: Entry): void {
    this.remove(owner, entry);
    const own = this.#owners.get(owner);
    if (!own) return;
    this.#owners.delete(owner);
    this.#owners.set(owner, own);
  }
}
