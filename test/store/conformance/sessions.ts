import { describe, expect, test } from 'vitest';
import type { ConsoleSession } from '../../../src/store/contract/sessions.ts';
import type { Stores } from '../conformance.ts';
import { start } from '../fixtures.ts';

/** Sessions of the console. */
export function sessionTests(on: Stores): void {
  const session = (hash: string, more: Partial<ConsoleSession> = {}): ConsoleSession => ({
    hash,
    keyHash: `key of ${hash}`,
    keyIsConfigured: 0,
    host: 'localhost:8080',
    createdAt: start,
    expiresAt: start + 1_000,
    ...more,
  });
  const find = async (...hashes: string[]) => [...(await on.other.sessions.findByHashes(hashes)).values()];

  describe('sessions', () => {
    test('are found by their hash in every process, until they are removed', async () => {
      const [a, b] = [session('a'), session('b', { keyIsConfigured: 1 })];
      await on.store.sessions.insert(a);
      await on.store.sessions.insert(b);
      expect(await find('a', 'c')).toEqual([a]);
      expect(await find('b')).toEqual([b]);
      await on.other.sessions.remove('a');
      await on.other.sessions.remove('a');
      expect(await find('a', 'b')).toEqual([b]);
    });

    test('that have expired are removed with a new one, 100 at a time', async () => {
      const names = Array.from({ length: 102 }, (_, index) => `old ${index}`);
      for (const [index, name] of names.entries())
        await on.store.sessions.insert(session(name, { createdAt: start - 9, expiresAt: start - 8 + index }));
      await on.store.sessions.insert(session('new', { createdAt: start + 200, expiresAt: start + 300 }));
      expect((await find(...names)).map(({ hash }) => hash)).toEqual(['old 100', 'old 101']);
      await on.store.sessions.insert(session('newer', { createdAt: start + 299, expiresAt: start + 400 }));
      expect((await find(...names, 'new', 'newer')).map(({ hash }) => hash).toSorted()).toEqual([
        'new',
        'newer',
      ]);
    });
  });
}
