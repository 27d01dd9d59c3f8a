import type { ResponseSide, ResponseStore } from '../store/contract/responses.ts';
import { itemOrigin } from '../wire/responses/item-ids.ts';
import type { StoredItem } from '../wire/responses/responses.ts';

export interface ItemReaderDeps {
  responses: ResponseStore;
  orgId: string;
  now: number;
}

/** Bytes parsed before others have a turn. */
const parsedAtOnce = 1_048_576;

/** Lets others have their turns while much is parsed. */
export class CooperativeParsing {
  #sinceTurn = 0;

  async parsed(bytes: number): Promise<void> {
    this.#sinceTurn += bytes;
    if (this.#sinceTurn < parsedAtOnce) return;
    this.#sinceTurn = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const sides = ['input', 'output'] as const;

export function referencesIn(items: readonly StoredItem[]): string[] {
  return items.filter(({ type }) => type === 'item_reference').map(({ id }) => id);
}

export type ItemReader = ReturnType<typeof createItemReader>;

/** Items of stored responses. Each text is read and parsed once, however many of its items are asked for. */
export function createItemReader({ responses, orgId, now }: ItemReaderDeps) {
  const lists = { input: new Map<string, StoredItem[]>(), output: new Map<string, StoredItem[]>() };
  const indexes = new Map<StoredItem[], Map<string, StoredItem>>();
  const found = new Map<string, { item: StoredItem; bytes: number }>();
  const turns = new CooperativeParsing();

  async function readSide(side: ResponseSide, ids: readonly string[]): Promise<void> {
    const unread = [...new Set(ids)].filter((id) => !lists[side].has(id));
    if (unread.length === 0) return;
    for (const [id, text] of Object.entries(await responses.texts(orgId, side, unread, now))) {
      lists[side].set(id, JSON.parse(text) as StoredItem[]);
      await turns.parsed(text.length);
    }
  }

  function indexOf(list: StoredItem[]): Map<string, StoredItem> {
    let index = indexes.get(list);
    // The first of those with one id is meant.
    if (!index) indexes.set(list, (index = new Map(list.toReversed().map((item) => [item.id, item]))));
    return index;
  }

  /** Ids of the responses that references lead to and that were not read, one a reference. */
  function unreadOrigins(references: readonly string[]): Record<ResponseSide, string[]> {
    const origins: Record<ResponseSide, string[]> = { input: [], output: [] };
    for (const reference of references) {
      const origin = itemOrigin(reference);
      if (origin && !lists[origin.side].has(origin.response)) origins[origin.side].push(origin.response);
    }
    return origins;
  }

  return {
    /** All that responses were asked and answered, in order. Whatever is gone is left out. */
    async readAll(ids: readonly string[]) {
      for (const side of sides) await readSide(side, ids);
      return ids.flatMap((id) => sides.flatMap((side) => lists[side].get(id) ?? []));
    },

    /** What one response was asked. */
    async readInput(id: string) {
      await readSide('input', [id]);
      return lists.input.get(id) ?? [];
    },

    /** Bytes of what `read` has to read for these references, and the most that the items named may have. */
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

    /** Reads what these references lead to. */
    async read(references: readonly string[]) {
      const origins = unreadOrigins(references);
      for (const side of sides) await readSide(side, origins[side]);
    },

    /** An item that was read, and its bytes; undefined where a reference leads to nothing. */
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
