import { describe, expect, test } from 'vitest';
import type { ConversationItem, ConversationAppend } from '../../../src/core/conversation.ts';
import type { Stores } from '../conformance.ts';
import { hour, nextId, start, storedBy, storedBytes } from '../fixtures.ts';
import { makeResponse } from './responses.ts';

export function conversationTests(on: Stores): void {
  const item = (text = 'naïve 日本'): ConversationItem => {
    const id = nextId('msg_');
    return { id, item: JSON.stringify({ id, text }) };
  };
  const metadata = '{"a":"é"}';
  const own = Buffer.byteLength(metadata);
  const bytesOf = (items: readonly ConversationItem[]) =>
    items.reduce((sum, each) => sum + Buffer.byteLength(each.item), 0);
  const add = async (items: ConversationItem[] = [], fields: { orgId?: string; expiresAt?: number } = {}) => {
    const made = {
      id: nextId('conv_'),
      orgId: 'org_a',
      keyId: 'key_a',
      createdAt: start,
      expiresAt: start + hour,
      metadata,
      ...fields,
    };
    await on.store.conversations.insert(made, items);
    return { ...made, bytes: bytesOf(items) };
  };
  const saidIn = (
    conversationId: string,
    items: ConversationItem[],
    fields: Partial<ConversationAppend> = {},
  ): ConversationAppend => ({
    orgId: 'org_a',
    keyId: 'key_a',
    conversationId,
    items,
    now: start,
    expiresAt: start + 2 * hour,
    ...fields,
  });
  const all = (id: string) => on.other.conversations.items(id, { order: 'asc', limit: 1_000 });
  const get = (id: string) => on.other.conversations.get('org_a', id, start);

  describe('conversations', () => {
    test('are readable with their first items, by their org alone, until they expire', async () => {
      const items = [item(), item()];
      const made = await add(items);
      expect(await get(made.id)).toEqual(made);
      expect(await all(made.id)).toEqual(items);
      expect(await on.store.conversations.texts(made.id)).toEqual(items.map((each) => each.item));
      expect(await on.store.conversations.item(made.id, items[1]!.id)).toBe(items[1]!.item);
      expect(await on.store.conversations.item(made.id, 'msg_other')).toBeUndefined();
      expect(await on.store.conversations.get('org_b', made.id, start)).toBeUndefined();
      expect(await on.store.conversations.get('org_a', made.id, start + hour)).toBeUndefined();
    });

    test('are listed in pages, in both orders', async () => {
      const items = Array.from({ length: 5 }, (_, n) => item(`${n}`));
      const { id } = await add(items);
      const page = async (order: 'asc' | 'desc', from?: ConversationItem) => {
        const after = from && (await on.store.conversations.positionOf(id, from.id));
        return on.store.conversations.items(id, { order, limit: 2, ...(after !== undefined && { after }) });
      };
      expect(await page('asc')).toEqual(items.slice(0, 2));
      expect(await page('asc', items[1])).toEqual(items.slice(2, 4));
      expect(await page('desc')).toEqual([items[4], items[3]]);
      expect(await page('desc', items[1])).toEqual([items[0]]);
      expect(await on.store.conversations.sizes(id, { order: 'asc', limit: 2, after: 2 })).toEqual(
        items.slice(2, 4).map((each) => ({ bytes: bytesOf([each]) })),
      );
      expect(await on.store.conversations.positionOf(id, 'msg_other')).toBeUndefined();
    });

    test('grow, extend their lifetime, and have an item once', async () => {
      const [a, b, c] = [item('a'), item('b'), item('c')];
      const { id } = await add([a]);
      expect(await on.store.conversations.append(saidIn(id, [b, a, b]))).toEqual([
        { ownerId: 'key_a', bytes: own + bytesOf([a, b]), fileBytes: 0, responses: 3 },
        { ownerId: 'org_a', bytes: own + bytesOf([a, b]), fileBytes: 0, responses: 3 },
      ]);
      await on.other.conversations.append(saidIn(id, [c]));
      expect(await all(id)).toEqual([a, b, c]);
      expect(await get(id)).toMatchObject({ bytes: bytesOf([a, b, c]), expiresAt: start + 2 * hour });
      const gone = [{ orgId: 'org_b' }, { now: start + 2 * hour }, { conversationId: 'conv_other' }];
      for (const fields of gone)
        expect(await on.store.conversations.append(saidIn(id, [item()], fields))).toBeUndefined();
      expect(await all(id)).toEqual([a, b, c]);
      const changed = await on.store.conversations.update('org_a', id, '{}', start, start + 3 * hour);
      expect(changed).toMatchObject({ id, metadata: '{}', expiresAt: start + 3 * hour });
      expect(await on.store.conversations.update('org_b', id, '{}', start, start)).toBeUndefined();
    });

    test('keep each of many concurrent additions in one piece', async () => {
      const { id } = await add();
      const turns = Array.from({ length: 12 }, () => [item(), item(), item()]);
      await Promise.all(
        turns.map((turn, n) =>
          n % 2
            ? on.store.conversations.append(saidIn(id, turn))
            : on.other.responses.insert([makeResponse({ previousId: id })], [saidIn(id, turn)]),
        ),
      );
      const kept = await all(id);
      expect(kept).toHaveLength(36);
      for (const turn of turns) {
        const at = kept.findIndex((each) => each.id === turn[0]!.id);
        expect(kept.slice(at, at + 3)).toEqual(turn);
      }
    });

    test('get the items of a response together with the response, or neither', async () => {
      const { id } = await add();
      const [first, second] = [item(), item()];
      const made = makeResponse({ previousId: id });
      await on.store.responses.insert([made], [saidIn(id, [first])]);
      await expect(on.store.responses.insert([made], [saidIn(id, [second])])).rejects.toThrow();
      expect(await all(id)).toEqual([first]);
      await on.store.responses.insert([], [saidIn(id, [second])]);
      expect(await all(id)).toEqual([first, second]);
      const most = { links: 10, bytes: 1_000 };
      expect((await on.store.responses.chain('org_a', made.id, start, most)).end).toBe('conversation');
      // An expired conversation accepts no items, and its response is not stored.
      const late = makeResponse({ previousId: id });
      await on.store.conversations.remove('org_a', id, start);
      await on.store.responses.insert([late], [saidIn(id, [item()])]);
      expect(await on.store.responses.get('org_a', late.id, start)).toBeDefined();
      expect(await all(id)).toEqual([]);
    });

    test('get the items of a background response when it ends, once', async () => {
      const { id } = await add();
      const running = makeResponse({ status: 'in_progress', aliveUntil: start + 10, previousId: id });
      await on.store.responses.insert([running]);
      const done = { status: 'completed', output: '[]', body: '{}', pieces: null } as const;
      const [said, late] = [item(), item()];
      expect(await on.store.responses.finish(running.id, done, saidIn(id, [said]))).toBe(true);
      expect(await on.other.responses.finish(running.id, done, saidIn(id, [late]))).toBe(false);
      expect(await all(id)).toEqual([said]);
    });

    test('can lose an item, and count the storage of the rest', async () => {
      const [a, b] = [item('a'), item('b')];
      const { id } = await add([a, b]);
      const { conversations } = on.store;
      expect(await storedBytes(on.store, 'org_a')).toBe(own + bytesOf([a, b]));
      expect(await conversations.removeItem('org_b', id, a.id, start)).toBeUndefined();
      expect(await conversations.removeItem('org_a', id, 'msg_other', start)).toBeUndefined();
      expect(await conversations.removeItem('org_a', id, a.id, start)).toMatchObject({ bytes: bytesOf([b]) });
      expect(await all(id)).toEqual([b]);
      expect(await storedBytes(on.store, 'org_a')).toBe(own + bytesOf([b]));
      expect((await storedBy(on.store, 'key_a')).responses).toBe(2);
      expect(await conversations.remove('org_b', id, start)).toBe(false);
      expect(await conversations.remove('org_a', id, start)).toBe(true);
      expect(await conversations.remove('org_a', id, start)).toBe(false);
      expect(await all(id)).toEqual([]);
      for (const owner of ['org_a', 'key_a'])
        expect(await storedBy(on.store, owner)).toEqual({
          ownerId: owner,
          bytes: 0,
          fileBytes: 0,
          responses: 0,
        });
    });

    test('count each item for the key that added it, in the conversation of another one', async () => {
      const { conversations, responses } = on.store;
      const rowsOf = async () => {
        const keys = await Promise.all(['key_a', 'key_b', 'key_c'].map((key) => storedBy(on.store, key)));
        return keys.map(({ responses: rows, bytes }) => [rows, bytes]);
      };
      const [a, b, c] = [item('a'), item('bb'), item('ccc')];
      const { id } = await add([a]);
      await conversations.append(saidIn(id, [b], { keyId: 'key_b' }));
      await responses.insert([], [saidIn(id, [c], { keyId: 'key_c' })]);
      const ofA = [2, own + bytesOf([a])];
      expect(await rowsOf()).toEqual([ofA, [1, bytesOf([b])], [1, bytesOf([c])]]);
      await conversations.removeItem('org_a', id, b.id, start);
      expect(await rowsOf()).toEqual([ofA, [0, 0], [1, bytesOf([c])]]);
      await conversations.remove('org_a', id, start);
      expect(await rowsOf()).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
      expect(await storedBytes(on.store, 'org_a')).toBe(0);
    });

    test('count the storage of their metadata, also when it changes, until they are removed', async () => {
      const { conversations } = on.store;
      const { id } = await add([], { expiresAt: start + 1 });
      expect(await storedBytes(on.store, 'org_a')).toBe(own);
      const longer = JSON.stringify({ a: 'é'.repeat(100) });
      await conversations.update('org_a', id, longer, start, start + 1);
      expect(await storedBytes(on.store, 'org_a')).toBe(Buffer.byteLength(longer));
      await conversations.update('org_b', id, '{}', start, start);
      expect(await storedBytes(on.store, 'org_b')).toBe(0);
      expect(await conversations.removeExpired(start + 5, 2)).toBe(1);
      expect(await storedBytes(on.store, 'org_a')).toBe(0);
    });

    test('that expired are swept a few at a time, with their items', async () => {
      const old = [];
      for (let n = 0; n < 3; n++) old.push(await add([item()], { expiresAt: start + n }));
      const young = await add([item()]);
      expect(await on.store.conversations.removeExpired(start + 5, 2)).toBe(2);
      expect(await on.store.conversations.removeExpired(start + 5, 2)).toBe(1);
      expect(await on.store.conversations.removeExpired(start + 5, 2)).toBe(0);
      for (const { id } of old) expect(await all(id)).toEqual([]);
      expect(await all(young.id)).toHaveLength(1);
    });
  });
}
