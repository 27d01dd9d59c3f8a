import { describe, expect, it } from 'vitest';
import { unit } from '../core/rates.ts';
import { SharedSubject } from './shared-subject.ts';

describe('a share', () => {
  it('that is not used is returned after a second, without what has drained meanwhile', () => {
    const subject = new SharedSubject('org_a');
    const bucket = subject.bucket('requests');
    bucket.waitMs(1, 600, 0);
    bucket.want(30, 600);
    expect(subject.request(0, 'need').rates.requests).toEqual({ limit: 600, unused: 0, wants: 30 });
    subject.receive({ rates: { requests: { granted: 30, level: 30 * unit } } }, 0);
    expect(subject.request(1_000, 'beat').rates.requests).toEqual({
      limit: 600,
      unused: 20 * unit,
      wants: 0,
    });
    expect(bucket.lacks(1)).toBe(true);
  });

  it('of places cannot be used while it is being returned', () => {
    const subject = new SharedSubject('org_a');
    const bucket = subject.bucket('concurrent');
    bucket.want(5, 10);
    subject.request(0, 'need');
    subject.receive({ rates: {}, concurrent: { places: 5, taken: 5 } }, 0);
    bucket.add(2, 10, 0);
    expect(subject.request(1_000, 'beat').concurrent).toEqual({ limit: 10, inFlight: 2, wants: 0 });
    expect(bucket.lacks(1)).toBe(true);
    subject.receive({ rates: {}, concurrent: { places: 2, taken: 2 } }, 1_000);
    expect(subject.isActive).toBe(true);
    bucket.add(-2, 10, 1_000);
    subject.request(2_000, 'stop');
    subject.receive({ rates: {}, concurrent: { places: 0, taken: 0 } }, 2_000);
    expect(subject.isActive).toBe(false);
  });
});
