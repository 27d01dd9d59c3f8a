import type { ResponseSide, ResponseStore } from '../store/contract/responses.ts';
import { itemOrigin } from '../wire/responses/item-ids.ts';
import type { StoredItem } from '../wire/responses/responses.ts';

export interface ItemReaderDeps {
  responses: ResponseStore;
  orgId: string;
  now: number;
}

/** Bytes parsed before the event loop gets a turn. */
const yieldBytes = 1_048_576;

/** Yields to the event loop while much is parsed. */
export class CooperativeParsing {
  #bytes = 0;

  async parsed(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < yieldBytes) return;
    this.#bytes = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const sides = ['input', 'output'] as const;

export function referencesIn(items: readonly StoredItem[]): string[] {
  return items.filter(({ type }) => type === 'item_reference').map(({ id }) => id);
}

export type ItemReader = ReturnType<typeof createItemReader>;

/** Reads items of stored responses. Each text is read and parsed only once. */
export function createItemReader({ responses, orgId, now }: ItemReaderDeps) {
  const lists = { input: new Map<string, StoredItem[]>(), output: new Map<string, StoredItem[]>() };
  const indexes = new Map<StoredItem[], Map<string, StoredItem>>();
  const found = new Map<string, { item: StoredItem; bytes: number }>();
  const parsing = new CooperativeParsing();

  async function readSide(side: ResponseSide, ids: readonly string[]): Promise<void> {
    const unread = [...new Set(ids)].filter((id) => !lists[side].has(id));
    if (unread.length === 0) return;
    for (const [id, text] of Object.entries(await responses.texts(orgId, side, unread, now))) {
      lists[side].set(id, JSON.parse(text) as StoredItem[]);
      await parsing.parsed(text.length);
    }
  }

  function indexOf(list: StoredItem[]): Map<string, StoredItem> {
    let index = indexes.get(list);
    // The first item with an id counts.
    if (!index) indexes.set(list, (index = new Map(list.toReversed().map((item) => [item.id, item]))));
    return index;
  }

  /** Ids of the unread responses that references lead to, one per reference. */
  function unreadOrigins(references: readonly string[]): Record<ResponseSide, string[]> {
    const origins: Record<ResponseSide, string[]> = { input: [], output: [] };
    for (const reference of references) {
      const origin = itemOrigin(reference);
      if (origin && !lists[origin.side].has(origin.response)) origins[origin.side].push(origin.response);
    }
    return origins;
  }

  return {
    /** Input and output of responses, in order; deleted ones are skipped. */
    async readAll(ids: readonly string[]) {
      for (const side of sides) await readSide(side, ids);
      return ids.flatMap((id) => sides.flatMap((side) => lists[side].get(id) ?? []));
    },

    async readInput(id: string) {
      await readSide('input', [id]);
      return lists.input.get(id) ?? [];
    },

    /** Bytes that `read` would read for these references, and the maximum bytes of the referenced items. */
    async sizes(references: readonly string[]) {
      const origins = unreadOrigins(references);
      let [read, named] = [0, 0];
      for (const side of sides) {
        const ids = origins[side];
        if (ids.length === 0) continue;
        const sizes = await responses.sizes(orgId, side, [...new Set(ids)], now);
        for (const bytes of Object.values(sizes)) read += bytes;
        for (const id of ids) named += sizes[id] ?? 0;
      }
      return { read, named };
    },

    /** Reads the responses that references lead to. */
    async read(references: readonly string[]) {
      const origins = unreadOrigins(references);
      for (const side of sides) await readSide(side, origins[side]);
    },

    /** Referenced item and its bytes, after `read`; undefined if it does not exist. */
    named(reference: string) {
      const known = found.get(reference);
      if (known) return known;
      const origin = itemOrigin(reference);
      const list = origin && lists[origin.side].get(origin.response);
      const item = list && indexOf(list).get(reference);
      if (!item || item.type === 'item_reference') return undefined;
      const named = { item, bytes: Buffer.byteLength(JSON.stringify(item)) };
      found.set(reference, named);
      return named;
    },
  };
}
