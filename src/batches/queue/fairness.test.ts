import { beforeEach, describe, expect, it } from 'vitest';
import { Fairness, VirtualTimes } from './fairness.ts';

const of = (orgId: string, weight = 1) => ({ orgId, weight });

describe('VirtualTimes', () => {
  let times: VirtualTimes;
  beforeEach(() => {
    times = new VirtualTimes();
    times.setWorking(new Set(['a', 'b']));
  });

  it('adds up the tokens of an org, those of lines in flight by estimate', () => {
    const settle = times.charge(of('a'), 100);
    expect(times.served('a')).toBe(100);
    settle(70);
    expect(times.served('a')).toBe(70);
  });

  it('charges nothing for a line that was not served', () => {
    times.charge(of('a'), 100)(0);
    expect(times.served('a')).toBe(0);
  });

  it('counts the tokens of an org with a weight for less', () => {
    times.charge(of('a', 2), 100);
    expect(times.served('a')).toBe(50);
  });

  it('counts lines in flight as far as recent lines used their estimates', () => {
    times.charge(of('a'), 1_000)(100);
    const before = times.served('a');
    times.charge(of('a'), 500);
    expect(times.served('a') - before).toBeCloseTo(50);
    for (let n = 0; n < 500; n++) times.charge(of('a'), 1_000)(900);
    const after = times.served('a');
    times.charge(of('a'), 500);
    expect(times.served('a') - after).toBeCloseTo(450, 0);
  });

  it('counts lines in flight anew with every line that is over', () => {
    const settle = times.charge(of('a'), 1_000);
    times.charge(of('a'), 1_000);
    expect(times.served('a')).toBe(2_000);
    settle(10);
    expect(times.served('a')).toBeCloseTo(20);
  });

  it('knows the use of each org by its own lines, and until then by those of all', () => {
    times.charge(of('a'), 1_000)(10);
    times.charge(of('b'), 100);
    expect(times.served('b')).toBeCloseTo(1);
    times.charge(of('b'), 100)(80);
    expect(times.served('b')).toBeCloseTo(160);
  });

  it('charges what a line used when it is over, whatever the others used meanwhile', () => {
    const settle = times.charge(of('a'), 1_000);
    times.charge(of('b'), 1_000)(10);
    settle(40);
    expect(times.served('a')).toBe(40);
  });

  it('lets an org that was away in at the least of those at work: idling earns nothing', () => {
    times.charge(of('a'), 1_000)(1_000);
    times.charge(of('b'), 400)(400);
    times.setWorking(new Set(['a', 'b', 'new']));
    expect(times.served('new')).toBe(400);
  });

  it('lets an org in at what the others have used, not at the estimates of their lines in flight', () => {
    const settle = Array.from({ length: 4 }, () => times.charge(of('a'), 1_000));
    times.setWorking(new Set(['a', 'new']));
    expect(times.served('new')).toBe(0);
    for (const each of settle) each(10);
    expect(times.served('a') - times.served('new')).toBe(40);
  });

  it('puts an org that comes back at the least of those at work, not before them', () => {
    times.charge(of('a'), 1_000)(1_000);
    times.charge(of('b'), 900)(900);
    times.setWorking(new Set(['b']));
    times.setWorking(new Set(['a', 'b']));
    expect(times.served('a')).toBe(900);
  });

  it('counts the tokens that late work took ahead of its turn until they are given in turn', () => {
    times.charge(of('a'), 100, true);
    expect(times.owed).toBe(100);
    times.charge(of('b'), 70);
    expect(times.owed).toBe(30);
    times.charge(of('b'), 70);
    expect(times.owed).toBe(0);
  });

  it('treats an unknown org as new', () => {
    times.setWorking(new Set(['a']));
    times.charge(of('a'), 50)(50);
    expect(times.served('unknown')).toBe(50);
  });

  it('starts over when no org has work', () => {
    times.charge(of('a'), 50);
    times.setWorking(new Set());
    expect(times.served('a')).toBe(0);
  });
});

describe('Fairness', () => {
  const work = (...lines: [model: string, orgId: string][]) =>
    lines.map(([model, orgId]) => ({ model, batch: { orgId } }));

  it('counts each model apart: much work for one model does not delay the first work for another', () => {
    const fairness = new Fairness();
    fairness.setWorking(work(['m1', 'a'], ['m2', 'b']));
    fairness.of('m1').charge(of('a'), 9_000)(9_000);
    fairness.of('m2').charge(of('b'), 50)(50);
    fairness.setWorking(work(['m1', 'a'], ['m2', 'b'], ['m2', 'a']));
    expect(fairness.of('m2').served('a')).toBe(50);
  });

  it('forgets the time of orgs without work of a model', () => {
    const fairness = new Fairness();
    fairness.setWorking(work(['m1', 'a']));
    fairness.of('m1').charge(of('a'), 50);
    fairness.setWorking(work(['m2', 'a']));
    expect(fairness.of('m1').served('a')).toBe(0);
  });
});
