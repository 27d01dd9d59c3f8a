import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asLate, compareUrgency, dueAt, lateBehindPriorities, withPriority } from './urgency.ts';

const instants = fc.nat(4e12);
const priority = fc.integer({ min: 0, max: 9 });

describe('urgency', () => {
  it('orders by priority, then by instant', () => {
    fc.assert(
      fc.property(instants, priority, instants, priority, (at, one, other, another) => {
        const expected = Math.sign(another - one) || Math.sign(at - other);
        expect(Math.sign(dueAt(at, one) - dueAt(other, another))).toBe(expected);
        expect(asLate(dueAt(at, one))).toBeLessThan(dueAt(other, another));
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

describe('lateBehindPriorities', () => {
  const batch = (id: string, level: number, more: object = {}) => ({
    id,
    orgId: 'a',
    due: dueAt(10, level),
    createdAt: 0,
    expiresAt: 100,
    ...more,
  });

  it('finds batches of the last quarter of their window behind others of their org', () => {
    const others = [batch('high', 9, { expiresAt: 1_000 }), batch('elsewhere', 0, { orgId: 'b' })];
    const find = (now: number, low = batch('low', 3)) => lateBehindPriorities([low, ...others], now);
    expect([find(74), find(75)]).toEqual([[], ['low']]);
    expect(find(75, { ...batch('low', 3), due: asLate(5) })).toEqual([]);
    expect(lateBehindPriorities([batch('one', 3), batch('two', 3)], 99)).toEqual([]);
  });

  it('does not count batches that already go first because they are late', () => {
    const hurried = batch('first', 9, { due: asLate(1) });
    expect(lateBehindPriorities([hurried, batch('second', 9)], 99)).toEqual([]);
    expect(lateBehindPriorities([hurried, batch('second', 4), batch('third', 5)], 99)).toEqual(['second']);
  });
});
