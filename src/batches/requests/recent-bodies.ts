import type { RequestStore } from '../../store/contract/requests.ts';

const maxBytes = 16 * 1024 * 1024;

/** Bodies of requests that this process has just stored. It mostly runs them itself, and then need not read them again. */
export class RecentBodies {
  #groups = new Map<string, readonly Uint8Array[]>();
  #bytes = 0;

  /** The store, with these bodies in memory. */
  before(store: RequestStore): RequestStore {
    return {
      ...store,
      create: async (group, chunks, requests, options) => {
        const outcome = await store.create(group, chunks, requests, options);
        if (outcome.outcome === 'created')
          this.#add(
            group.id,
            requests.map(({ body }) => body),
          );
        return outcome;
      },
      bodies: async (groupId, lines) => {
        const known = this.#groups.get(groupId);
        return known ? lines.map((line) => known[line]) : store.bodies(groupId, lines);
      },
    };
  }

  #add(groupId: string, bodies: readonly Uint8Array[]): void {
    this.#groups.set(groupId, bodies);
    this.#bytes += sizeOf(bodies);
    for (const [id, oldest] of this.#groups) {
      if (this.#bytes <= maxBytes) return;
      this.#groups.delete(id);
      this.#bytes -= sizeOf(oldest);
    }
  }
}

function sizeOf(bodies: readonly Uint8Array[]): number {
  return bodies.reduce((sum, { length }) => sum + length, 0);
}
