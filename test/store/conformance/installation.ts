import { describe, expect, test } from 'vitest';
import type { Stores } from '../conformance.ts';
import { start } from '../fixtures.ts';

export function installationTests(on: Stores): void {
  describe('the installation', () => {
    test('has no ID before it is claimed, and keeps the first one', async () => {
      expect(await on.store.installation.id()).toBeUndefined();
      expect(await on.store.installation.claim('inst_1', start)).toBe('inst_1');
      expect(await on.other.installation.claim('inst_2', start)).toBe('inst_1');
      expect(await on.other.installation.id()).toBe('inst_1');
    });

    test('has one ID if several processes claim it concurrently', async () => {
      const claims = await Promise.all(
        ['a', 'b', 'c', 'd'].map((id, n) => (n % 2 ? on.store : on.other).installation.claim(id, start)),
      );
      expect(new Set(claims).size).toBe(1);
    });
  });
}
