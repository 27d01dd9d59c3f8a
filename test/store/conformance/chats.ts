import { describe, expect, test } from 'vitest';
import type { ChatQuery, StoredChat } from '../../../src/core/stored-chat.ts';
import type { Stores } from '../conformance.ts';
import { hour, nextId, start, storedBytes } from '../fixtures.ts';

export function chatTests(on: Stores): void {
  const add = async (fields: Partial<StoredChat> = {}) => {
    const chat: StoredChat = {
      id: nextId('chatcmpl_'),
      orgId: 'org_a',
      keyId: 'key_a',
      createdAt: start,
      expiresAt: start + hour,
      model: 'tiny',
      metadata: '{"a":"x","b \\"":"\\u0000é"}',
      messages: '[{"content":"naïve 日本"}]',
      body: '{"id":"ü"}',
      ...fields,
    };
    await on.store.chats.insert(chat);
    return chat;
  };
  const seen = (chat: StoredChat) => {
    const { messages: _, ...rest } = chat;
    return rest;
  };
  const bytesOf = ({ metadata, messages, body }: StoredChat) => Buffer.byteLength(metadata + messages + body);

  describe('chat completions', () => {
    test('are readable by their org until they expire or are removed, and count as storage', async () => {
      const chat = await add();
      const { chats } = on.store;
      expect(await on.other.chats.get('org_a', chat.id, start)).toEqual(seen(chat));
      expect(await chats.messages('org_a', chat.id, start)).toBe(chat.messages);
      expect(await chats.messagesBytes('org_a', chat.id, start)).toBe(Buffer.byteLength(chat.messages));
      expect(await chats.read('org_a', [chat.id], start)).toEqual([seen(chat)]);
      for (const [org, now] of [
        ['org_b', start],
        ['org_a', start + hour],
      ] as const) {
        expect(await chats.get(org, chat.id, now)).toBeUndefined();
        expect(await chats.messages(org, chat.id, now)).toBeUndefined();
        expect(await chats.messagesBytes(org, chat.id, now)).toBeUndefined();
        expect(await chats.read(org, [chat.id], now)).toEqual([]);
        expect(await chats.list(org, { order: 'asc', limit: 9 }, now)).toEqual([]);
        expect(await chats.update(org, chat.id, '{}', now)).toBeUndefined();
        expect(await chats.remove(org, chat.id, now)).toBe(false);
      }
      expect(await storedBytes(on.store, 'org_a')).toBe(bytesOf(chat));
      expect(await chats.update('org_a', chat.id, '{}', start)).toEqual({ ...seen(chat), metadata: '{}' });
      expect(await storedBytes(on.store, 'org_a')).toBe(bytesOf({ ...chat, metadata: '{}' }));
      expect(await chats.remove('org_a', chat.id, start)).toBe(true);
      expect(await storedBytes(on.store, 'org_a')).toBe(0);
      const old = await add({ expiresAt: start + 1 });
      expect(await chats.removeExpired(start + 1, 9)).toBe(1);
      expect(await chats.get('org_a', old.id, start)).toBeUndefined();
    });

    test('are listed in both orders, in pages, by model and by metadata', async () => {
      const made: StoredChat[] = [];
      for (const model of ['tiny', 'tiny', 'large']) made.push(await add({ model }));
      made.push(await add({ metadata: '{"a":"y"}' }));
      const places = (found: { id: string }[]) =>
        found.map(({ id }) => made.findIndex((chat) => chat.id === id));
      const list = async (query: object) =>
        places(await on.store.chats.list('org_a', { order: 'asc', limit: 9, ...query }, start));
      const search = async ({ limit = 9, ...query }: Partial<ChatQuery>) => {
        const found: { id: string }[] = [];
        for (let next: string | null = ''; next !== null && found.length < limit;) {
          const place = next === '' ? {} : { after: next };
          const slice = {
            order: 'asc',
            metadata: {},
            ...query,
            ...place,
            limit: limit - found.length,
          } as const;
          const part = await on.store.chats.search('org_a', slice, start);
          found.push(...part.found);
          next = part.next;
        }
        return places(found);
      };
      expect(await list({})).toEqual([0, 1, 2, 3]);
      expect(await list({ limit: 2, after: made[0]!.id })).toEqual([1, 2]);
      const ids = [made[2]!.id, 'chatcmpl_other', made[0]!.id];
      expect(await on.store.chats.read('org_a', ids, start)).toEqual([seen(made[2]!), seen(made[0]!)]);
      const page = await on.store.chats.list('org_a', { order: 'asc', limit: 1 }, start);
      const shown = made[0]!.metadata + made[0]!.body;
      expect(page).toEqual([{ id: made[0]!.id, bytes: Buffer.byteLength(shown) }]);
      expect(await list({ order: 'desc', after: made[2]!.id })).toEqual([1, 0]);
      expect(await search({ model: 'large' })).toEqual([2]);
      expect(await search({ metadata: { a: 'x' } })).toEqual([0, 1, 2]);
      expect(await search({ metadata: { a: 'x', 'b "': '\u0000é' }, model: 'tiny' })).toEqual([0, 1]);
      expect(await search({ metadata: { x: 'a' } })).toEqual([]);
      // A key with the same suffix and a value that looks like a key: neither matches, nor takes a place on the page.
      for (const metadata of ['{"x\\"c":"d"}', '{"x\\"c":"d"}', '{"k":"v,",":":"z"}', '{"c":"d"}'])
        made.push(await add({ metadata }));
      expect(await search({ metadata: { c: 'd' }, limit: 1 })).toEqual([7]);
      expect(await search({ metadata: { ',': ':' } })).toEqual([]);
    });

    test('are searched in slices of few rows, however few match (attack 4)', async () => {
      const chat = await add({ metadata: '{"a":"x"}' });
      const { id: _, ...rest } = chat;
      const more = Array.from({ length: 450 }, () => ({ ...rest, id: nextId('chatcmpl_'), metadata: '{}' }));
      for (const each of more) await on.store.chats.insert(each);
      for (const order of ['asc', 'desc'] as const) {
        const slices: string[][] = [];
        for (let after: string | null = ''; after !== null;) {
          const query = { order, limit: 1, metadata: { a: 'x' }, ...(after !== '' && { after }) };
          const part = await on.store.chats.search('org_a', query, start);
          slices.push(part.found.map((found) => found.id));
          after = part.next;
        }
        const found = order === 'asc' ? [[chat.id], [], [], []] : [[], [], [chat.id], []];
        expect(slices).toEqual(found);
      }
      const pairs = Object.fromEntries(Array.from({ length: 4 }, (__, n) => [`k${n}`, 'v']));
      const part = await on.store.chats.search('org_a', { order: 'asc', limit: 9, metadata: pairs }, start);
      // Four conditions read a quarter of the rows.
      expect(part).toEqual({ found: [], next: more[48]!.id });
    });
  });
}
