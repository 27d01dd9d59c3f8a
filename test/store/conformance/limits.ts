import { describe, expect, test } from 'vitest';
import { unit } from '../../../src/core/rates.ts';
import type { Stores } from '../conformance.ts';
import { start } from '../fixtures.ts';

export function limitTests(on: Stores): void {
  const ask = (wants: number, unused = 0) => ({
    rates: { requests: { limit: 100, unused, wants } },
    concurrent: { limit: 4, inFlight: 0, wants: 3 },
  });

  describe('shares of limits', () => {
    test('are together at most the limit, from any process', async () => {
      const shares = await Promise.all(
        [on.store, on.other, on.store, on.other].map((store, at) =>
          store.limits.share(`p${at}`, { org_a: ask(30), key_b: ask(30) }, start),
        ),
      );
      for (const id of ['org_a', 'key_b']) {
        const granted = shares.map((share) => share[id]!.rates.requests!.granted);
        expect(granted.toSorted((a, b) => a - b)).toEqual([10, 30, 30, 30]);
        const places = shares.map((share) => share[id]!.concurrent!.places);
        expect(places.reduce((sum, each) => sum + each, 0)).toBe(4);
      }
    });

    test('are returned, and drain with time', async () => {
      const share = async (wants: number, unused: number, after: number) =>
        (await on.store.limits.share('p', { org_a: ask(wants, unused) }, start + after)).org_a!.rates;
      expect(await share(100, 0, 0)).toEqual({ requests: { granted: 100, level: 100 * unit } });
      expect(await share(100, 0, 600)).toEqual({ requests: { granted: 1, level: 100 * unit } });
      expect(await share(0, 40 * unit, 600)).toEqual({ requests: { granted: 0, level: 60 * unit } });
      expect(await share(0, -80 * unit, 600)).toEqual({ requests: { granted: 0, level: 140 * unit } });
      expect(await share(100, 0, 24_600)).toEqual({ requests: { granted: 0, level: 100 * unit } });
      // A process whose clock is behind drains nothing.
      expect(await share(0, 0, -60_000)).toEqual({ requests: { granted: 0, level: 100 * unit } });
    });

    test('can be read without taking any', async () => {
      expect(await on.store.limits.read(['org_a'])).toEqual({});
      await on.store.limits.share('p', { org_a: ask(30), key_b: ask(0) }, start);
      const read = () => on.other.limits.read(['org_a', 'org_c']);
      const meters = { requests: { level: 30 * unit, at: start } };
      const use = { org_a: { meters, held: { p: { places: 3, until: expect.any(Number) } } } };
      expect(await read()).toEqual(use);
      expect(await read()).toEqual(use);
    });

    test('are forgotten when they were not used for long', async () => {
      await on.store.limits.share('p', { org_a: ask(100) }, start);
      await on.store.limits.removeUnused(start);
      const again = await on.store.limits.share('p', { org_a: ask(100) }, start);
      expect(again.org_a!.rates.requests!.granted).toBe(0);
      await on.store.limits.removeUnused(start + 1);
      const fresh = await on.store.limits.share('p', { org_a: ask(100) }, start);
      expect(fresh.org_a!.rates.requests!.granted).toBe(100);
    });
  });
}
