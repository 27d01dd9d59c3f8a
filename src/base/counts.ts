/** Numbers by name; 0 for a name without one. */
export class Counts {
  #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    this.#counts.set(name, this.of(name) + by);
  }

  clear(): void {
    this.#counts.clear();
  }

  [Symbol.iterator](): MapIterator<[string, number]> {
    return this.#counts.entries();
  }
}
