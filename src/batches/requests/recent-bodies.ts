import type { RequestStore } from '../../store/contract/requests.ts';

const maxBytes = 16 * 1024 * 1024;

/** Bodies of requests that this process has just stored. It mostly runs them itself, and then need not read them from the database. */
export class RecentBodies {
  #groups = new Map<string, Map<number, Uint8Array>>();
  #bytes = 0;

  /** The store, with these bodies in memory until they are read. */
  before(store: RequestStore): RequestStore {
    return {
      ...store,
      create: async (group, chunks, requests, options) => {
        const outcome = await store.create(group, chunks, requests, options);
        if (outcome.outcome === 'created')
          this.#add(group.id, new Map(requests.map(({ line, body }) => [line, body])));
        return outcome;
      },
      bodies: async (groupId, lines) => {
        const known = this.#groups.get(groupId);
        return known && lines.every((line) => known.has(line))
          ? lines.map((line) => this.#take(groupId, known, line))
          : store.bodies(groupId, lines);
      },
    };
  }

  #take(groupId: string, bodies: Map<number, Uint8Array>, line: number): Uint8Array | undefined {
    const body = bodies.get(line);
    this.#bytes -= body?.length ?? 0;
    bodies.delete(line);
    if (bodies.size === 0) this.#groups.delete(groupId);
    return body;
  }

  #add(groupId: string, bodies: Map<number, Uint8Array>): void {
    this.#groups.set(groupId, bodies);
    for (const { length } of bodies.values()) this.#bytes += length;
    for (const [id, oldest] of this.#groups) {
      if (this.#bytes <= maxBytes) return;
      for (const line of oldest.keys()) this.#take(id, oldest, line);
    }
  }
}
