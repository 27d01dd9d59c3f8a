import { describe, expect, it } from 'vitest';
import { Cohort, type SentRequest } from './cohort.ts';

function sentAt(at: number): SentRequest {
  return { at, inFlight: 10, cohort: null };
}

function joined(cohort: Cohort, count: number): SentRequest[] {
  const all = Array.from({ length: count }, () => sentAt(0));
  for (const sent of all) cohort.join(sent);
  return all;
}

describe('Cohort', () => {
  it('takes members up to its size', () => {
    const cohort = new Cohort(2, 2);
    expect(joined(cohort, 3).map((sent) => sent.cohort)).toEqual([cohort, cohort, null]);
  });

  it('is closed once one of enough members was answered', () => {
    const cohort = new Cohort(10, 4);
    const [early] = joined(cohort, 4);
    cohort.answered(early!, 50, 1);
    const late = sentAt(50);
    cohort.join(late);
    expect(late.cohort).toBeNull();
  });

  it('is known when all members answered or the last few had their time', () => {
    const cohort = new Cohort(10, 10);
    const all = joined(cohort, 10);
    for (const sent of all.slice(0, 8)) cohort.answered(sent, 50, 1);
    expect(cohort.isKnown(50)).toBe(false);
    expect(cohort.isKnown(56)).toBe(true);
    for (const sent of all.slice(8)) cohort.answered(sent, 51, 1);
    expect(cohort.isKnown(51)).toBe(true);
  });

  it('counts open requests with the time they have taken so far', () => {
    const cohort = new Cohort(10, 10);
    for (const sent of joined(cohort, 10).slice(0, 8)) cohort.answered(sent, 50, 1);
    expect(cohort.stats(100)).toMatchObject({ count: 10, mean: 60, concurrency: 10 });
  });

  it('ignores a dropped request', () => {
    const cohort = new Cohort(2, 2);
    const [dropped, answered] = joined(cohort, 2);
    cohort.leave(dropped!);
    cohort.answered(answered!, 50, 1);
    expect(cohort.isKnown(1000)).toBe(false);
    const next = sentAt(50);
    cohort.join(next);
    cohort.answered(next, 50, 1);
    expect(cohort.isKnown(1000)).toBe(true);
  });
});
