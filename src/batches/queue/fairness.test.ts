import { describe, expect, it } from 'vitest';
import { Fairness } from './fairness.ts';

describe('Fairness', () => {
  it('adds up the tokens of an org', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a']));
    fairness.charge({ orgId: 'a', weight: 1 }, 100);
    fairness.charge({ orgId: 'a', weight: 1 }, -30);
    expect(fairness.served('a')).toBe(70);
  });

  it('counts the tokens of an org with a weight for less', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a']));
    fairness.charge({ orgId: 'a', weight: 2 }, 100);
    expect(fairness.served('a')).toBe(50);
  });

  it('lets an org that was away in at the least of those at work: idling earns nothing', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a', 'b']));
    fairness.charge({ orgId: 'a', weight: 1 }, 1_000);
    fairness.charge({ orgId: 'b', weight: 1 }, 400);
    fairness.setWorking(new Set(['a', 'b', 'new']));
    expect(fairness.served('new')).toBe(400);
  });

  it('puts an org that comes back at the least of those at work, not before them', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a', 'b']));
    fairness.charge({ orgId: 'a', weight: 1 }, 1_000);
    fairness.charge({ orgId: 'b', weight: 1 }, 900);
    fairness.setWorking(new Set(['b']));
    fairness.setWorking(new Set(['a', 'b']));
    expect(fairness.served('a')).toBe(900);
  });

  it('treats an unknown org as new', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a']));
    fairness.charge({ orgId: 'a', weight: 1 }, 50);
    expect(fairness.served('unknown')).toBe(50);
  });

  it('starts over when no org has work', () => {
    const fairness = new Fairness();
    fairness.setWorking(new Set(['a']));
    fairness.charge({ orgId: 'a', weight: 1 }, 50);
    fairness.setWorking(new Set());
    expect(fairness.served('a')).toBe(0);
  });
});
