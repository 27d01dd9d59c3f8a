import { describe, expect, test } from 'vitest';
import type { StoredChat } from '../../../src/core/stored-chat.ts';
import type { Stores } from '../conformance.ts';
import { hour, nextId, start } from '../fixtures.ts';

export function chatTests(on: Stores): void {
  const add = async (fields: Partial<StoredChat> = {}) => {
    const chat: StoredChat = {
      id: nextId('chatcmpl_'),
      orgId: 'org_a',
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
        expect(await chats.list(org, { order: 'asc', limit: 9, metadata: {} }, now)).toEqual([]);
        expect(await chats.update(org, chat.id, '{}', now)).toBeUndefined();
        expect(await chats.remove(org, chat.id, now)).toBe(false);
      }
      expect(await on.store.responses.storedBytes('org_a')).toBe(bytesOf(chat));
      expect(await chats.update('org_a', chat.id, '{}', start)).toEqual({ ...seen(chat), metadata: '{}' });
      expect(await on.store.responses.storedBytes('org_a')).toBe(bytesOf({ ...chat, metadata: '{}' }));
      expect(await chats.remove('org_a', chat.id, start)).toBe(true);
      expect(await on.store.responses.storedBytes('org_a')).toBe(0);
      const old = await add({ expiresAt: start + 1 });
      expect(await chats.removeExpired(start + 1, 9)).toBe(1);
      expect(await chats.get('org_a', old.id, start)).toBeUndefined();
    });

    test('are listed in both orders, in pages, by model and by metadata', async () => {
      const made: StoredChat[] = [];
      for (const model of ['tiny', 'tiny', 'large']) made.push(await add({ model }));
      made.push(await add({ metadata: '{"a":"y"}' }));
      const list = async (query: object) =>
        (await on.store.chats.list('org_a', { order: 'asc', limit: 9, metadata: {}, ...query }, start)).map(
          ({ id }) => made.findIndex((chat) => chat.id === id),
        );
      expect(await list({})).toEqual([0, 1, 2, 3]);
      expect(await list({ limit: 2, after: made[0]!.id })).toEqual([1, 2]);
      const ids = [made[2]!.id, 'chatcmpl_other', made[0]!.id];
      expect(await on.store.chats.read('org_a', ids, start)).toEqual([seen(made[2]!), seen(made[0]!)]);
      const page = await on.store.chats.list('org_a', { order: 'asc', limit: 1, metadata: {} }, start);
      expect(page).toMatchObject([{ id: made[0]!.id, bytes: Buffer.byteLength(made[0]!.body) }]);
      expect(await list({ order: 'desc', after: made[2]!.id })).toEqual([1, 0]);
      expect(await list({ model: 'large' })).toEqual([2]);
      expect(await list({ metadata: { a: 'x' } })).toEqual([0, 1, 2]);
      expect(await list({ metadata: { a: 'x', 'b "': '\u0000é' }, model: 'tiny' })).toEqual([0, 1]);
      expect(await list({ metadata: { x: 'a' } })).toEqual([]);
      // A key with the same suffix and a value that looks like a key: neither matches, nor takes a place on the page.
      for (const metadata of ['{"x\\"c":"d"}', '{"x\\"c":"d"}', '{"k":"v,",":":"z"}', '{"c":"d"}'])
        made.push(await add({ metadata }));
      expect(await list({ metadata: { c: 'd' }, limit: 1 })).toEqual([7]);
      expect(await list({ metadata: { ',': ':' } })).toEqual([]);
    });
  });
}
