import { expect, it } from 'vitest';
import { array, assert, constantFrom, integer, property, tuple } from 'fast-check';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { TopOrgs } from './top-orgs.ts';

const hour = 3_600_000;

it('shows the first orgs, and counts the others together', () => {
  const top = new TopOrgs(2, createManualClock());
  expect(['a', 'b', 'c', 'a'].map((org) => top.count(org, 10))).toEqual(['a', 'b', 'other', 'a']);
  expect(top.labelOf('c')).toBe('other');
});

it('replaces a shown org by one that used more than twice as much', () => {
  const top = new TopOrgs(2, createManualClock());
  for (const [org, tokens] of [
    ['a', 100],
    ['b', 10],
    ['c', 20],
  ] as const)
    top.count(org, tokens);
  expect(top.review()).toEqual([]);
  top.count('c', 1);
  expect(top.review()).toEqual(['b']);
  expect([...top.shown]).toEqual(['a', 'c']);
  expect(top.count('b', 1)).toBe('other');
});

it('judges by recent use', async () => {
  const clock = createManualClock();
  const top = new TopOrgs(1, clock);
  top.count('before', 1_000);
  await clock.advance(3 * hour);
  top.count('now', 260);
  expect(top.review()).toEqual(['before']);
});

it('forgets orgs without use, but shows them while there is room', async () => {
  const clock = createManualClock();
  const top = new TopOrgs(2, clock);
  top.count('idle', 10);
  await clock.advance(100 * hour);
  expect(top.review()).toEqual([]);
  expect([...top.shown]).toEqual(['idle']);
});

it('never shows more orgs than allowed', () => {
  const step = tuple(constantFrom('a', 'b', 'c', 'd', 'e', 'f'), integer({ min: 0, max: 1_000 }));
  assert(
    property(integer({ min: 0, max: 4 }), array(step), (max, steps) => {
      const top = new TopOrgs(max, createManualClock());
      const labels = new Set<string>();
      for (const [org, tokens] of steps) {
        labels.add(top.count(org, tokens));
        for (const dropped of top.review()) labels.delete(dropped);
        expect(top.shown.size).toBeLessThanOrEqual(max);
        expect(labels.size).toBeLessThanOrEqual(max + 1);
      }
    }),
  );
});
