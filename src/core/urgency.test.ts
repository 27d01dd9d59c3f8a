import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asLate, compareUrgency, dueAt, isLate, withPriority } from './urgency.ts';

const instants = fc.nat(4e12);
const priority = fc.integer({ min: 0, max: 9 });

describe('urgency', () => {
  it('orders by priority, then by instant', () => {
    fc.assert(
      fc.property(instants, priority, instants, priority, (at, one, other, another) => {
        const expected = Math.sign(another - one) || Math.sign(at - other);
        expect(Math.sign(dueAt(at, one) - dueAt(other, another))).toBe(expected);
        expect(asLate(dueAt(at, one))).toBeLessThan(dueAt(other, another));
        expect([isLate(dueAt(at, one)), isLate(asLate(dueAt(at, one)))]).toEqual([false, true]);
      }),
    );
  });

  it('is the same for the same priority, whatever it was before, and for a default that was stored without one', () => {
    fc.assert(
      fc.property(instants, priority, priority, (at, one, other) => {
        expect(withPriority(dueAt(at, one), other)).toBe(dueAt(at, other));
        const late = asLate(dueAt(at, one));
        expect([withPriority(late, other), asLate(late)]).toEqual([late, late]);
        expect(dueAt(at, 5)).toBe(at);
      }),
    );
  });

  it('ignores the priorities of different orgs', () => {
    const a = { orgId: 'a', due: dueAt(5, 0) };
    expect(compareUrgency(a, { orgId: 'b', due: dueAt(6, 9) })).toBeLessThan(0);
    expect(compareUrgency(a, { orgId: 'a', due: dueAt(6, 9) })).toBeGreaterThan(0);
  });
});
